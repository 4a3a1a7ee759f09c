package archive

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	vsa "github.com/in-toto/attestation/go/predicates/vsa/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// What statements and their predicates are called by their makers.
const (
	payloadType   = "application/vnd.in-toto+json"
	predicateType = "https://slsa.dev/verification_summary/v1"
)

// statement says of a run what was proved, in bytes that are always the same. manifest
// is the digest of manifest.json.
func statement(e run.Evidence, manifest string) ([]byte, error) {
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
		for _, f := range e.Candidates[len(e.Candidates)-1].Files {
			if f.After != "" {
				st.Subject = append(st.Subject, &intoto.ResourceDescriptor{Name: f.Path, Digest: map[string]string{"sha256": f.After}})
			}
		}
	}
	return stable(st)
}

// result is the verdict in the words of a verification summary.
func result(e run.Evidence) string {
	if e.Verdict == verify.Pass {
		return "PASSED"
	}
	return "FAILED"
}

// levels names the gates that the last candidate passed.
func levels(e run.Evidence) (names []string) {
	if len(e.Candidates) == 0 {
		return nil
	}
	for _, g := range e.Candidates[len(e.Candidates)-1].Gates {
		if g.Verdict == verify.Pass {
			names = append(names, "AGENT_"+strings.ToUpper(g.Name))
		}
	}
	return names
}

// stable is JSON without the spaces that protojson sprinkles in on purpose.
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
func attested(ctx context.Context, text []byte, key *Key, e run.Evidence, manifest string) error {
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		return err
	}
	if again, err := json.Marshal(envelope); err != nil || !bytes.Equal(again, text) || len(envelope.Signatures) != 1 {
		return errors.New("the envelope is written in another way than it should")
	}
	for _, coded := range []string{envelope.Payload, envelope.Signatures[0].Sig} {
		if _, err := base64.StdEncoding.Strict().DecodeString(coded); err != nil {
			return err
		}
	}
	verifier, err := dsse.NewEnvelopeVerifier(key)
	if err != nil {
		return err
	}
	_, payload, err := verifier.VerifyAndDecode(ctx, &envelope)
	if err != nil {
		return fmt.Errorf("the signature is none of that key: %w", err)
	}
	st := &intoto.Statement{}
	if err := protojson.Unmarshal(payload, st); err != nil {
		return err
	}
	if err := st.Validate(); err != nil {
		return err
	}
	switch {
	case envelope.PayloadType != payloadType || st.PredicateType != predicateType:
		return errors.New("it is no verification summary")
	case st.Subject[0].Name != manifestName || st.Subject[0].Digest["sha256"] != manifest:
		return errors.New("it is about another " + manifestName)
	case st.Predicate.Fields["verificationResult"].GetStringValue() != result(e):
		return errors.New("its result is not the verdict of the run")
	}
	return nil
}
