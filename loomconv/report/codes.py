"""The closed vocabulary of findings: every code with its severity and what it means.

A code reads `<stage>.<what>`. Plugins may bring codes of their own (`Format.finding_codes`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["CODES", "Code", "Severity"]

Severity = Literal["error", "warning", "notice"]


class Code(NamedTuple):
    """Severity unless a finding says otherwise, and one sentence for people."""

    # "notice": good to know; "warning": look at it; "error": not all could be done.
    severity: Severity
    # One sentence.
    meaning: str


CODES: dict[str, Code] = {
    # -- reading: the text of the file --------------------------------------------------------------------------
    "read.bom": Code("warning", "The file starts with a byte order mark; it was passed over."),
    "read.bad-encoding": Code("warning", "Bytes that are not UTF-8; they were kept as escapes."),
    "read.bad-container": Code("warning", "The container around the file is odd, but could be opened."),
    "read.duplicate-key": Code("warning", "An object has the same key twice; the last value counts."),
    "read.lone-surrogate": Code("warning", "A text holds half a character (a lone UTF-16 surrogate); it was kept."),
    "read.non-finite-number": Code("warning", "NaN or an infinity, which JSON cannot hold; it became null."),
    "read.truncated": Code("error", "The file ends too early; what stands before the cut was read."),
    "read.deep": Code("notice", "The text nests deeper than many programs can read."),
    "read.exact": Code("notice", "The file was read by the slower, exact reader."),
    # -- reading: what the file says ----------------------------------------------------------------------------
    "read.version": Code("warning", "The version is missing, oddly written or newer than what is known."),
    "read.bad-value": Code("warning", "A value has the wrong type; it was kept aside."),
    "read.bad-text": Code("warning", "A text is no string; it was read as one and the original kept aside."),
    "read.bad-time": Code("warning", "A time cannot be understood; it was left out and kept aside."),
    "read.time-without-zone": Code("warning", "A time has no zone; it was left out and kept aside."),
    "read.time-unit": Code("warning", "A time is plausible only in another unit than the format's; that was used."),
    "read.duplicate-id": Code("warning", "Two nodes have the same id; the later one got a new id."),
    "read.missing-id": Code("notice", "A node has no id; it got one."),
    "read.id-mismatch": Code("warning", "A node's id differs from the key it stands under; the key counts."),
    "read.children-disagree": Code("warning", "A list of children and the nodes' own parents disagree."),
    "read.missing-child": Code("warning", "A list of children names a node that is not in the file."),
    "read.remembered-child": Code("warning", "A node remembers a child that is none of its children; kept aside."),
    "read.bookmark-disagree": Code("warning", "Two places say different things of a bookmark."),
    "read.unknown-author": Code("warning", "An author that the format does not know; kept aside."),
    "read.fold-unresolved": Code("warning", "A folded part of the tree could not be unfolded; it was kept as it is."),
    "read.text-differs": Code("notice", "A text differs from the model's recorded completion."),
    "read.placeholder": Code("notice", "A node is a placeholder of a generation that never finished."),
    "read.sidecar": Code("notice", "A companion file was read, too."),
    "read.opaque-node": Code("warning", "A node is not what a node must be; it was kept as it is."),
    # -- reading: what ends it (see `failures`) ------------------------------------------------------------------
    "detect.unknown-format": Code("error", "No installed format recognises the content; nothing was read."),
    "detect.ambiguous": Code("error", "The content fits several formats equally well; nothing was read."),
    "read.syntax": Code("error", "The text is not well-formed; nothing was read."),
    "read.unreadable": Code("error", "The file cannot be read."),
    "read.unsafe-archive": Code("error", "The archive cannot be trusted; nothing was read."),
    "read.limit": Code("error", "Something is larger or deeper than the limit in force; nothing was read."),
    "read.invalid": Code("error", "The file is no document of its format; nothing was read."),
    "validate.schema": Code("warning", "A value is not what the format's schema asks for."),
    "validate.sampled": Code("notice", "The file is so large that only some of its nodes were checked one by one."),
    # -- repair -------------------------------------------------------------------------------------------------
    "repair.missing-parent": Code("warning", "A node's parent is not in the file; the node became a root."),
    "repair.missing-source": Code("warning", "An edge comes from a node that is not there; that source was removed."),
    "repair.missing-target": Code("warning", "An edge goes to a node that is not there; the edge was removed."),
    "repair.bad-edge": Code("warning", "A value is no edge; it was removed and kept aside."),
    "repair.duplicate-edge": Code("warning", "An edge is there twice; the first one was kept."),
    "repair.edge-type": Code("warning", "An edge has no type; it counts as a continuation."),
    "repair.edge-id": Code("warning", "An edge's id is taken; it got a new one."),
    "repair.cycle": Code("warning", "A ring of nodes; the link that closes it was cut."),
    "repair.bad-root": Code("warning", "A listed root is no root; it was removed from the list."),
    "repair.unlisted-root": Code("warning", "A root was not listed; it was added to the list."),
    "repair.bad-current": Code("warning", "The current node is not in the file; none is current now."),
    "repair.bad-lineage": Code("warning", "A node says that it was edited from a node that is not in the file; kept."),
    "repair.bad-reference": Code("warning", "A reference names a node by its inner id; it was pointed at the key."),
    "repair.tree-id": Code("warning", "A tree has no usable id, or one that is taken; it got a new one."),
    "repair.node-id": Code("warning", "A node's id is empty; it got one."),
    "repair.title": Code("warning", "A tree has no title; it got an empty one."),
    "repair.empty-tree": Code("warning", "A tree has no nodes."),
    "repair.content": Code("warning", "A node's content is not a list of blocks; it was made one."),
    "repair.author": Code("warning", "A node has no author; one was assumed."),
    "repair.meta": Code("warning", "A flag or label of a node has the wrong type; it was kept aside."),
    # -- loss: what the target cannot hold ----------------------------------------------------------------------
    "loss.extra-tree": Code("notice", "The target holds one tree a file; further trees go to files of their own."),
    "loss.extra-root": Code("notice", "The target holds one root; an empty root was put above them."),
    "loss.extra-parent": Code("notice", "The target holds one parent a node; the first one was kept."),
    "loss.extra-source": Code("notice", "The target holds one source an edge; the primary one was kept."),
    "loss.annotation-edge": Code("notice", "The target has no annotations."),
    "loss.edge-type": Code("notice", "The target does not know this type of edge."),
    "loss.note-node": Code("notice", "The target has no place for a note that hangs on an annotation."),
    "loss.loose-note": Code("notice", "The target has no loose notes; the note became a child of what it is about."),
    "loss.edge-detail": Code("notice", "The target's edges have no ids, times or extensions of their own."),
    "loss.block": Code("notice", "The target cannot hold a block of this type."),
    "loss.block-boundary": Code("notice", "The target holds one text a node; the texts were joined."),
    "loss.author-role": Code("notice", "The target does not know this role."),
    "loss.author-name": Code("notice", "The target has no names of authors."),
    "loss.agent": Code("notice", "The target has no agents."),
    "loss.generation": Code("notice", "The target cannot hold all of how a text was generated."),
    "loss.meta": Code("notice", "The target has no such flag or label."),
    "loss.rating": Code("notice", "The target's ratings are only up and down; the size is not written."),
    "loss.edit-lineage": Code("notice", "The target does not record what a node was edited from."),
    "loss.node-time": Code("notice", "The target has no times of nodes."),
    "loss.time-precision": Code("notice", "The target's times are coarser."),
    "loss.tree-field": Code("notice", "The target has no such field of a tree."),
    "loss.document-field": Code("notice", "The target has no such field of a document."),
    "loss.unknown-field": Code("notice", "The target has no place for a field that the specification does not know."),
    "loss.extension": Code("notice", "The target has no place for what another app keeps."),
    "loss.lone-surrogate": Code("notice", "The target's app cannot read half a character; U+FFFD stands for it."),
    "loss.nul": Code("notice", "The target's app cannot hold the character U+0000; U+FFFD stands for it."),
    "loss.rewritten-text": Code("warning", "The target's app rewrites a text like this one when it opens the file."),
    "loss.node-id": Code("notice", "The target's files have no ids of nodes."),
    "loss.depth": Code("warning", "The tree is deeper than the target's app survives."),
    # -- writing: what ends it (see `failures`) ------------------------------------------------------------------
    "convert.refused": Code("error", "Something would be lost, and losses were not allowed; nothing was written."),
    "convert.impossible": Code("error", "The conversion cannot be carried out as it was asked for."),
    "convert.plugin-fault": Code("error", "A plugin broke its contract; nothing was written."),
    "convert.plugin-switched-off": Code("warning", "A plugin failed and was switched off; the rest works without it."),
    "convert.fault": Code("error", "A fault of loomconv or of a plugin; nothing was written."),
    # -- restoring ----------------------------------------------------------------------------------------------
    "restore.restored": Code("notice", "What an earlier conversion had set aside was put back."),
    "restore.edited": Code("notice", "This was edited since an earlier conversion; the edit stands."),
    "restore.missing": Code("notice", "What an earlier conversion set aside speaks of something that is gone."),
    "restore.foreign": Code("notice", "Set-aside data of another file or version was left alone."),
    # -- privacy ------------------------------------------------------------------------------------------------
    "privacy.secret-dropped": Code("warning", "A key or password was found and left out."),
    "privacy.secret-kept": Code("warning", "A key or password is in the output, as asked for."),
    "privacy.withheld": Code("notice", "Private data was left out, as asked for."),
    "privacy.contains": Code("notice", "The output holds private data; --without leaves it out."),
    # -- media --------------------------------------------------------------------------------------------------
    "media.mime-mismatch": Code("warning", "The bytes of a medium are not of the type that the file says."),
    "media.unsafe-path": Code("warning", "A name leads out of the bundle; it was not followed."),
    "media.missing-media": Code("warning", "A medium is not there; the reference was kept."),
    "media.unresolved-media": Code("notice", "A picture or sound was not found; the reference was kept."),
    "media.out-of-reach": Code("warning", "A file beside the input is not found from where the output is."),
    "media.hidden": Code("notice", "The app shows files only; media inside the document are kept, and not seen."),
    "media.bad-data-uri": Code("warning", "A data: URI cannot be decoded; it was kept."),
    "media.inlined": Code("notice", "A medium that was outside the document came along inside it."),
    "media.bundled": Code("notice", "A medium went into the bundle."),
    "media.bundle-by-size": Code("notice", "The document holds so much media that a bundle was written."),
    "media.beside": Code("notice", "A medium went to a file beside the document."),
    "media.kept-inline": Code(
        "notice",
        "The data: URI is spelled in an unusual way; it stays in the document, so that it comes back the same.",
    ),
    "media.dropped": Code("warning", "A medium was left out, as asked for; its text stands for it."),
    "media.kept-aside": Code("notice", "A member of the bundle that is not referred to is kept aside, to come back."),
    "media.left-behind": Code(
        "warning", "A member of the bundle did not come along: it is too large, or was not asked for."
    ),
    "media.broken-medium": Code("warning", "A medium is damaged: its header or a checksum in it is wrong."),
    "media.media-too-large": Code("warning", "A medium is above the size limit; it was not looked into."),
}
