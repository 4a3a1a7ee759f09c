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

// What statements and their predicates are called by their makers.
const (
	// The first is in what DSSE signs, so that a signature of other content of the same bytes
	// is none of a statement. The second says by which schema the predicate is read.
	payloadType   = "application/vnd.in-toto+json"
	predicateType = "https://slsa.dev/verification_summary/v1"
)

// statement says of a run what was proved, in bytes that are always the same. manifest
// is the digest of manifest.json.
// The subjects are the manifest, always the first, and then each file that the run wrote,
// as it was left: so whoever has one of those files finds by its digest what proved it. Files
// that were deleted have no digest and are none.
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
	// A predicate is a generic structure: the typed one gets there by its JSON.
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

// result is the verdict in the words of a verification summary.
// It knows two: a run that was cancelled or struck by the machine's trouble proved nothing,
// and is FAILED too.
func result(e replay.Evidence) string {
	if e.Verdict == verify.Pass {
		return "PASSED"
	}
	return "FAILED"
}

// deciding is the last candidate that passed, or the last one where none did; the zero one where none was tried. What
// came of a reviewer's findings may stand behind the one that was promoted, and did not pass then.
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

// levels names the gates that the deciding candidate passed.
// SLSA leaves names outside of its own tracks to the verifier; the prefix keeps them from
// being taken for one of those. Gates that were skipped are not among them.
func levels(e replay.Evidence) (names []string) {
	for _, g := range deciding(e).Gates {
		if g.Verdict == verify.Pass {
			names = append(names, "AGENT_"+strings.ToUpper(g.Name))
		}
	}
	return names
}

// stable is JSON without the spaces that protojson sprinkles in on purpose.
// They differ from one build of a program to another, so that nobody relies on them: the
// same record would be signed as other bytes.
func stable(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.Bytes(), err
}

// sign puts a statement into an envelope.
// The envelope holds the payload in base64, its type, and one signature with the
// fingerprint of the key. A key without its private half signs nothing: only LoadKey gives
// one that does.
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

// attested checks an envelope against the key and what it is about.
// e is what was read of the archive, and manifest the digest of the manifest that is in
// it: a genuine envelope of another run is refused, and so is any word in it that does not
// follow from those two.
func attested(ctx context.Context, text []byte, key *Key, e replay.Evidence, manifest string) error {
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		return err
	}
	// No digest covers the envelope, so that it has to have one form only: fields that nobody
	// reads, spaces, or a second signature that nobody checks would be bytes without a meaning.
	if again, err := json.Marshal(envelope); err != nil || !bytes.Equal(again, text) || len(envelope.Signatures) != 1 {
		return errors.New("the envelope is written in another way than it should")
	}
	// Bits at the end of base64 that decode to nothing could otherwise be turned unnoticed.
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
		return fmt.Errorf("the signature is none of that key: %w", err)
	}
	// The signature says whose it is twice, by the key and by the name of the key. And of what it signs
	// there is one form: the statement that is made of the parts here, whatever else could be read the same.
	want, err := statement(e, manifest)
	switch {
	case err != nil:
		return err
	case envelope.Signatures[0].KeyID != fingerprint:
		return errors.New("the signature names another key")
	case envelope.PayloadType != payloadType:
		return errors.New("it is no verification summary")
	case !bytes.Equal(payload, want):
		return errors.New("it is about another " + manifestName + ", or says something else of the run than is in it")
	}
	return nil
}
