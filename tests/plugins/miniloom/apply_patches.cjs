// Reads lines of JSON {patch, parent} and prints the text that the app's library makes of each, as a line of JSON.
const DiffMatchPatch = require("diff-match-patch");
const library = new DiffMatchPatch();
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { patch, parent } = JSON.parse(line);
  const [text, applied] = patch === "" ? [parent, []] : library.patch_apply(patch, parent);
  console.log(JSON.stringify({ text, whole: applied.every(Boolean) }));
});
