"""Passes over Logic IR; `finchsched.passes.logic.normal_form` puts them in order."""
