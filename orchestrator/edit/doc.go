// Package edit turns what a model, a person or a tool wrote into a changeset,
// or into a refusal that says what to send instead.
//
// It is pure: text in, changeset out, no clock, no I/O but the [Files] that
// the caller hands it, the same answer for the same input. It owns four steps,
// each of which hands its result to the next and never reaches back:
//
//   - parse reads the response, in whichever form it is written, into
//     operations. All forms mean the same few operations.
//   - match finds the one place in the original text that a block means, by
//     the five strategies in order of trust, and turns the place and its
//     replacement into splices: only the lines that the block changes, indented
//     as the file is.
//   - guard judges the result of all blocks by what the language of the file says.
//   - plan, here, checks the splices of all blocks against one another, applies
//     them and builds the changeset; what no place was found for goes to explain.
//
// Below them stand document, one file in lines with the indexes in which places are
// looked up; lex, what the languages say of a line; and problem, what a refusal is made of.
//
// The forms, each told by how it begins; a response in two of them is refused:
//
//   - tags: <EDIT file><SEARCH>…</SEARCH><REPLACE>…</REPLACE></EDIT>, CREATE_FILE,
//     FILE for the whole content of a file, DELETE_FILE and RENAME_FILE
//   - conflict markers: <<<<<<< SEARCH, =======, >>>>>>> REPLACE
//   - unified diffs, of git or plain, with true numbers, wrong ones or none
//   - patches between "*** Begin Patch" and "*** End Patch"
//   - JSON, alone or in fences: changes of whole files by "action", old and new
//     text, and edits by "type", among them those at the ends of a file and
//     at a line, which must carry the text of that line
//   - whole files in fences, each directly under a line with its name, when
//     nothing else in the response is an edit
//
// In all of them a body is whole lines, its entities are text, and a block that
// was cut off refuses the response.
//
// What it refuses: a place that is not the only one, a token that differs, a
// response that was cut off, blocks that overlap, a replacement that says
// "rest unchanged" instead of the rest, a path that no workspace may hold.
// Similar text is only ever shown, never edited. When one operation is refused
// nothing is applied, and the refusal names the operations that were sound.
//
// What it keeps: every byte outside the changed lines, and the bytes of every
// line that a block repeats unchanged, whatever its line end, trailing space,
// quotation marks or encoding. Changed lines take the file's line ends.
package edit
