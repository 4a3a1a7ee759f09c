// Package edit turns a response from a model, a person or a tool into a changeset, or into a refusal that says what to send
// instead.
//
// It is pure: text in, changeset out. It has no clock and does no I/O except through the [Files] that the caller passes. The same
// input always gives the same answer. It owns four steps; each passes its result to the next and never reaches back:
//
//   - parse reads the response, in whichever form it is written, into
//     operations. All forms share the same few operations.
//   - match finds the one place in the original text that a block means, by
//     the five strategies from the strictest to the loosest. It turns the place and its
//     replacement into splices: only the lines that the block changes, indented
//     as the file is.
//   - guard judges the result of all blocks by the rules of the file's language.
//   - plan, in this package, checks the splices of all blocks against one another, applies
//     them and builds the changeset. Blocks without a place go to explain.
//
// Below them are document, one file in lines with the indexes used to look up places; lex, what each language says about a line;
// and problem, the parts of a refusal.
//
// The forms are listed below. The beginning of a response tells its form, and a response in two forms is refused:
//
//   - tags: <EDIT file><SEARCH>…</SEARCH><REPLACE>…</REPLACE></EDIT>, CREATE_FILE,
//     FILE for the whole content of a file, DELETE_FILE and RENAME_FILE
//   - conflict markers: <<<<<<< SEARCH, =======, >>>>>>> REPLACE
//   - unified diffs, from git or plain, with correct line numbers, wrong ones or none
//   - patches between "*** Begin Patch" and "*** End Patch"
//   - JSON, alone or in fences: changes of whole files by "action", old and new
//     text, and edits by "type". Edits at the ends of a file and at a line are
//     among the latter; an edit at a line must carry the text of that line
//   - whole files in fences, each directly below a line with its name, if
//     nothing else in the response is an edit
//
// In all of them a body is whole lines, its entities are text, and a block that was cut off refuses the response.
//
// The package refuses a place that is not the only one, a token that differs, a response that was cut off, blocks that overlap, a
// replacement that says "rest unchanged" instead of the rest, and a path that no workspace may hold. It only shows similar text and
// never edits it. If it refuses one operation it applies none, and the refusal names the operations that were sound.
//
// The package keeps every byte outside the changed lines. It also keeps the bytes of every line that a block repeats unchanged:
// line end, trailing space, quotation marks and encoding. Changed lines take the file's line ends.
package edit
