"""Records of any source, in and out: files, folders, and labelled corpora in every form."""
