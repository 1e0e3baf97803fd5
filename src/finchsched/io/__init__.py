"""Reading and writing tensor files; readers and writers are imported from their modules, by what needs them."""

from finchsched.io.samples import DATA_VARIABLE, data_folder, sample_path

__all__ = ["DATA_VARIABLE", "data_folder", "sample_path"]
