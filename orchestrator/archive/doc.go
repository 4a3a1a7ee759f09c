// Package archive defines the form in which a recorded run leaves its database: one file that another machine can check
// and judge again with nothing but an engine. It neither judges nor reads a database: package replay does the first,
// and package store the second.
//
// # The file
//
// A tar archive in the ustar form, with the same bytes for the same record and key:
//
//	run.json          replay.Evidence, without its exchanges
//	exchanges.json    the questions to models and their answers
//	blobs/SHA256      contents: the inventory of the workspace, its files, the responses,
//	                  and what the candidates changed
//	manifest.json     format, run, and the name, size and SHA-256 of each part above
//	attestation.json  a DSSE envelope, signed with ed25519, around an in-toto
//	                  statement about manifest.json and the promoted files
//	key.pub           the public key, in PEM
//
// It is not compressed, so that a reader need not trust any size in it and every byte is accounted for. The reader
// writes what it has read again and compares the result with the file, which also reveals a changed bit in a header, in
// padding or after the end.
//
// # The statement
//
// Its predicate is a SLSA verification summary. The result is PASSED for a run whose verdict is pass, and the levels
// are the gates that the last passing candidate passed. Times come from the record.
//
// # Trust
//
// A signature says that the file is whole and was made by the owner of the key, which lies in the archive too. Only a
// fingerprint that arrived in another way shows that it is the right key. Nothing else in an archive is believed before
// the signature is checked, and a replay believes nothing but the bytes.
package archive
