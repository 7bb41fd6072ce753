"""Images and sounds in documents: what they are, and whether that is what they claim to be. Nothing is ever fetched."""
