"""BIGbench: implicit and explicit bias of images, and whether it shows ignorance or discrimination."""
