package archive

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	vsa "github.com/in-toto/attestation/go/predicates/vsa/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// The names that their makers give to statements and predicates.
const (
	// DSSE signs payloadType too, so that a signature of the same bytes as another type does not count for a statement.
	// predicateType names the schema of the predicate.
	payloadType   = "application/vnd.in-toto+json"
	predicateType = "https://slsa.dev/verification_summary/v1"
)

// statement states what was proved about a run, in bytes that are always the same. manifest is the digest of
// manifest.json. The subjects are the manifest, always first, and then each file that the run wrote, in its final
// state: the owner of such a file can find by its digest what proved it. Deleted files have no digest and are left out.
func statement(e replay.Evidence, manifest string) ([]byte, error) {
	// encoding/json sorts the keys of maps, so the digest of the policy is that of the settings.
	settings, err := json.Marshal(e.Settings)
	if err != nil {
		return nil, err
	}
	summary := &vsa.VerificationSummary{
		Verifier:     &vsa.VerificationSummary_Verifier{Id: "agent:definitions:" + e.Settings.Definitions},
		TimeVerified: timestamppb.New(e.Ended), ResourceUri: "agent:run:" + e.Run,
		Policy:             &vsa.VerificationSummary_Policy{Uri: "agent:settings", Digest: map[string]string{"sha256": workspace.Digest(settings)}},
		VerificationResult: result(e), VerifiedLevels: levels(e),
	}
	// A predicate is a generic structure: the typed one is converted to it through JSON.
	text, err := stable(summary)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := protojson.Unmarshal(text, predicate); err != nil {
		return nil, err
	}
	st := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: predicateType, Predicate: predicate}
	st.Subject = append(st.Subject, &intoto.ResourceDescriptor{Name: manifestName, Digest: map[string]string{"sha256": manifest}})
	if e.State == run.Promoted && len(e.Candidates) > 0 {
		for _, f := range deciding(e).Files {
			if f.After != "" {
				st.Subject = append(st.Subject, &intoto.ResourceDescriptor{Name: f.Path, Digest: map[string]string{"sha256": f.After}})
			}
		}
	}
	return stable(st)
}

// result returns the verdict in the terms of a verification summary. It has two: a run that was cancelled, or that
// failed because of the machine, proved nothing and is FAILED too.
func result(e replay.Evidence) string {
	if e.Verdict == verify.Pass {
		return "PASSED"
	}
	return "FAILED"
}

// deciding returns the last candidate that passed, or else the last one, or the zero Exhibit if none was tried. An
// answer to a reviewer's findings may come after the promoted candidate; it did not pass then.
func deciding(e replay.Evidence) (last replay.Exhibit) {
	for i, c := range slices.Backward(e.Candidates) {
		if c.Verdict == verify.Pass {
			return c
		}
		if i == len(e.Candidates)-1 {
			last = c
		}
	}
	return last
}

// levels names the gates that the deciding candidate passed, without skipped ones. SLSA leaves names outside of its own
// tracks to the verifier; the prefix keeps them from being taken for SLSA's.
func levels(e replay.Evidence) (names []string) {
	for _, g := range deciding(e).Gates {
		if g.Verdict == verify.Pass {
			names = append(names, "AGENT_"+strings.ToUpper(g.Name))
		}
	}
	return names
}

// stable returns JSON without the spaces that protojson inserts on purpose. They differ from one build of a program to
// another, so that nobody relies on them: with them, the same record would be signed as different bytes.
func stable(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.Bytes(), err
}

// sign puts a statement into an envelope. The envelope holds the payload in base64, its type, and one signature with
// the fingerprint of the key. A key without its private half signs nothing: only LoadKey returns one with it.
func sign(ctx context.Context, payload []byte, key *Key) ([]byte, error) {
	signer, err := dsse.NewEnvelopeSigner(key)
	if err != nil {
		return nil, err
	}
	envelope, err := signer.SignPayload(ctx, payloadType, payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope)
}

// attested checks an envelope against the key and against its subject. e is what was read from the archive, and
// manifest is the digest of the manifest in it. A genuine envelope of another run is refused, and so is any word in it
// that does not follow from those two.
func attested(ctx context.Context, text []byte, key *Key, e replay.Evidence, manifest string) error {
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		return err
	}
	// No digest covers the envelope, so it must have only one form: unknown fields, spaces, or a second, unchecked
	// signature would be bytes without a meaning.
	if again, err := json.Marshal(envelope); err != nil || !bytes.Equal(again, text) || len(envelope.Signatures) != 1 {
		return errors.New("the envelope is not in its canonical form")
	}
	// Otherwise bits at the end of base64 that decode to nothing could change unnoticed.
	for _, coded := range []string{envelope.Payload, envelope.Signatures[0].Sig} {
		if _, err := base64.StdEncoding.Strict().DecodeString(coded); err != nil {
			return err
		}
	}
	fingerprint, err := key.KeyID()
	if err != nil {
		return err
	}
	verifier, err := dsse.NewEnvelopeVerifier(key)
	if err != nil {
		return err
	}
	_, payload, err := verifier.VerifyAndDecode(ctx, &envelope)
	if err != nil {
		return fmt.Errorf("the signature was not made by that key: %w", err)
	}
	// The signature names its owner twice, by the key and by the name of the key. The signed content has one form: the
	// statement made from the parts here, whatever else could be read the same way.
	want, err := statement(e, manifest)
	switch {
	case err != nil:
		return err
	case envelope.Signatures[0].KeyID != fingerprint:
		return errors.New("the signature names another key")
	case envelope.PayloadType != payloadType:
		return errors.New("it is not a verification summary")
	case !bytes.Equal(payload, want):
		return errors.New("it is about another " + manifestName + ", or its statement about the run does not match the archive")
	}
	return nil
}
