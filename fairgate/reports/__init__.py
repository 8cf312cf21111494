"""One frozen Report; everything beside it renders it, for one kind of reader each."""
