// Package archive owns the form in which a recorded run leaves its database: one file
// that another machine can check and judge again, with nothing but an engine. It
// neither judges nor reads a database: package replay does the one, package store the
// other.
//
// # The file
//
// A tar archive in the ustar form, the same bytes for the same record and key:
//
//	run.json          replay.Evidence, without its exchanges
//	exchanges.json    what was asked of models, and their answers
//	blobs/SHA256      contents: the inventory of the workspace, its files, the responses,
//	                  and what the candidates changed
//	manifest.json     format, run, and name, size and SHA-256 of each of those
//	attestation.json  a DSSE envelope, signed with ed25519, around an in-toto
//	                  statement about manifest.json and the promoted files
//	key.pub           the public key, in PEM
//
// It is not compressed: no size in it is a promise that a reader has to believe, and each
// byte is accounted for. What a reader makes of it is written again and compared with the
// file, so that also a bit in a header, in padding or behind the end is found.
//
// # The statement
//
// Its predicate is a verification summary of SLSA. The result is PASSED for a run whose
// verdict is pass, and the levels are the gates that the last candidate passed. Times are
// those of the record.
//
// # Trust
//
// A signature says that the file is whole and was made by who has the key, which lies in
// the archive too. That this is the right one only a fingerprint tells that came by
// another way. Nothing else in an archive is believed before the signature is checked,
// and a replay believes nothing at all but the bytes.
package archive
