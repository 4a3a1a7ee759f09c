//go:build ollama

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ollama/ollama/api"
)

// A scriptLine is one answer of a scripted model, and the questions that it belongs to.
type scriptLine struct {
	// Begins is the beginning of the question, "" for questions that no other line fits.
	Begins string
	// Holds is a text that occurs in the question, "" for any.
	Holds string
	// Says is the answer. No two lines have the same answer.
	Says string
}

// controlWord returns the control word of the n-th line of a script: the model answers a prompt that ends in it with
// the line.
func controlWord(n int) string { return fmt.Sprintf("<|line %d|>", n) }

// chatTemplate returns the model's chat template, which ends every prompt in the control word of the line that answers
// it: the last one that fits.
//
// The model cannot read, but the template can: Ollama renders it with Go's templates. A text begins with another if it
// sorts at or after it and before everything that begins otherwise. A text contains another if one of its suffixes
// begins with it.
func chatTemplate(script []scriptLine) string {
	begins := func(name, with string) string {
		return fmt.Sprintf("(and (ge %s %s) (lt %s %s))", name, strconv.Quote(with), name, strconv.Quote(with+"\U0010ffff"))
	}
	var t strings.Builder
	t.WriteString(`{{- $say := "" }}{{ range .Messages }}{{ .Role }}: {{ .Content }}` + "\n")
	t.WriteString(`{{- if eq .Role "user" }}{{ $text := .Content }}`)
	for n, l := range script {
		fmt.Fprintf(&t, "{{ if %s }}", begins("$text", l.Begins))
		if l.Holds != "" {
			fmt.Fprintf(&t, "{{ range $i := len $text }}{{ $end := slice $text $i }}{{ if %s }}", begins("$end", l.Holds))
		}
		fmt.Fprintf(&t, "{{ $say = %q }}", controlWord(n))
		if l.Holds != "" {
			t.WriteString("{{ end }}{{ end }}")
		}
		t.WriteString("{{ end }}")
	}
	t.WriteString("{{ end }}{{ end }}{{ $say }}")
	return t.String()
}

// These are the kinds of a token in a model file.
const (
	normalToken  = 1
	unknownToken = 2
	controlToken = 3
	definedToken = 4 // matched whole in a prompt
	byteToken    = 6
)

// endToken is the token that ends an answer.
const endToken = 2

// A tokenChain is the vocabulary of a scripted model, with the successor of each token. It is a Markov chain: the next
// token depends only on the last one.
type tokenChain struct {
	tokens []string
	kinds  []int32
	known  map[string]bool
	// next holds the successor of a token; a token without one is followed by endToken.
	next map[int]int
}

// add adds a token to the vocabulary.
func (c *tokenChain) add(text string, kind int32) int {
	c.tokens, c.kinds = append(c.tokens, text), append(c.kinds, kind)
	c.known[text] = true
	return len(c.tokens) - 1
}

// newTokenChain returns the chain that produces each line after its control word.
func newTokenChain(script []scriptLine) (*tokenChain, error) {
	c := &tokenChain{known: map[string]bool{}, next: map[int]int{}}
	c.add("<unk>", unknownToken)
	c.add("<s>", controlToken)
	c.add("</s>", controlToken)
	// A prompt is read as single bytes.
	for b := range 256 {
		c.add(fmt.Sprintf("<0x%02X>", b), byteToken)
	}
	for n, l := range script {
		at := c.add(controlWord(n), definedToken)
		pieces := c.cut(l.Says)
		if pieces == nil {
			return nil, fmt.Errorf("line %d says nothing of its own: %q", n, l.Says)
		}
		for _, p := range pieces {
			to := c.add(p, normalToken)
			c.next[at], at = to, to
		}
	}
	return c, nil
}

// cut cuts a text into tokens of about 16 bytes. No token may be known or occur twice, since each has only one
// successor. It returns nil if the text cannot be distinguished from known tokens.
func (c *tokenChain) cut(text string) []string {
	// Vocabularies of this kind write a space like this.
	text = strings.ReplaceAll(text, " ", "▁")
	var pieces []string
	for text != "" {
		n := 0
		for n < len(text) && (n < 16 || c.known[text[:n]]) {
			_, size := utf8.DecodeRuneInString(text[n:])
			n += size
		}
		if !c.known[text[:n]] {
			pieces, text = append(pieces, text[:n]), text[n:]
			c.known[pieces[len(pieces)-1]] = true
			continue
		}
		// A known end cannot be its own token: the previous token takes it.
		last := len(pieces) - 1
		if last < 0 {
			return nil
		}
		text, pieces = pieces[last]+text, pieces[:last]
	}
	return pieces
}

// These are the lengths of a model's vectors, except the one that its chain decides.
const (
	headWidth  = 64 // of one attention head
	innerWidth = 32 // within the feed-forward step
)

// width returns the length of an embedding: one number for each token with a successor and one for all others, rounded
// up to whole heads.
func (c *tokenChain) width() int { return (len(c.next) + headWidth) / headWidth * headWidth }

// weights returns the embeddings, and the rows that produce the output.
//
// The embedding of a token is a vector with one number of its own, and the row of its successor reads that number. The
// last number stands for all tokens without a successor, and leads to the end.
func (c *tokenChain) weights() (embed, output []float32) {
	width, at := c.width(), 0
	embed, output = make([]float32, width*len(c.tokens)), make([]float32, width*len(c.tokens))
	for t := range c.tokens {
		to, ok := c.next[t]
		if !ok {
			embed[t*width+width-1] = 1
			continue
		}
		embed[t*width+at], output[to*width+at] = 1, 10
		at++
	}
	output[endToken*width+width-1] = 10
	return embed, output
}

// modelFile returns a model file of the llama family whose likeliest answer follows the chain. Its only layer adds
// nothing, since its weights are zero.
func (c *tokenChain) modelFile() []byte {
	for len(c.tokens)%32 != 0 { // rows are multiplied in groups of this size
		c.add(fmt.Sprintf("<pad %d>", len(c.tokens)), controlToken)
	}
	width := c.width()
	ones, zeros := slices.Repeat([]float32{1}, width), make([]float32, width*width)
	embed, output := c.weights()
	w, v := uint64(width), uint64(len(c.tokens))
	f := ggufFile{}
	f.head(c)
	f.tensor("token_embd.weight", embed, w, v)
	f.tensor("output.weight", output, w, v)
	f.tensor("output_norm.weight", ones, w)
	f.tensor("blk.0.attn_norm.weight", ones, w)
	f.tensor("blk.0.ffn_norm.weight", ones, w)
	for _, name := range []string{"q", "k", "v", "output"} {
		f.tensor("blk.0.attn_"+name+".weight", zeros, w, w)
	}
	f.tensor("blk.0.ffn_gate.weight", zeros[:width*innerWidth], w, innerWidth)
	f.tensor("blk.0.ffn_up.weight", zeros[:width*innerWidth], w, innerWidth)
	f.tensor("blk.0.ffn_down.weight", zeros[:width*innerWidth], innerWidth, w)
	return f.bytes()
}

// A ggufFile is a model file under construction: its values, and its tensors. The format is described in docs/gguf.md
// of ggml, version 3.
type ggufFile struct {
	values, tensors       int
	described, list, data bytes.Buffer
}

// head describes the model of a chain, which has one layer.
func (f *ggufFile) head(c *tokenChain) {
	width := c.width()
	f.value("general.architecture", "llama")
	f.value("general.name", "script")
	f.value("general.file_type", uint32(0)) // 32-bit numbers
	f.value("llama.vocab_size", uint32(len(c.tokens)))
	f.value("llama.context_length", uint32(32768))
	f.value("llama.embedding_length", uint32(width))
	f.value("llama.block_count", uint32(1))
	f.value("llama.feed_forward_length", uint32(innerWidth))
	f.value("llama.attention.head_count", uint32(width/headWidth))
	f.value("llama.attention.head_count_kv", uint32(width/headWidth))
	f.value("llama.attention.layer_norm_rms_epsilon", float32(1e-6))
	f.value("llama.rope.dimension_count", uint32(headWidth))
	f.value("tokenizer.ggml.model", "llama")
	f.value("tokenizer.ggml.tokens", c.tokens)
	f.value("tokenizer.ggml.token_type", c.kinds)
	// The scores are so low that no bytes of a prompt are joined to a token of the script.
	f.value("tokenizer.ggml.scores", slices.Repeat([]float32{-1e4}, len(c.tokens)))
	f.value("tokenizer.ggml.bos_token_id", uint32(1))
	f.value("tokenizer.ggml.eos_token_id", uint32(endToken))
	f.value("tokenizer.ggml.unknown_token_id", uint32(0))
	f.value("tokenizer.ggml.add_bos_token", true)
	f.value("tokenizer.ggml.add_space_prefix", false)
}

// putGGUF writes numbers in the form of the format. A buffer accepts everything.
func putGGUF(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			putGGUF(b, uint64(len(s)), []byte(s))
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // a type without a size, which is a mistake in this file
		}
	}
}

// These are the types of a value.
const (
	ggufUint32, ggufInt32, ggufFloat32, ggufBool = uint32(4), uint32(5), uint32(6), uint32(7)
	ggufString, ggufArray                        = uint32(8), uint32(9)
)

// value adds a value of a type that a model needs.
func (f *ggufFile) value(key string, v any) {
	f.values++
	b := &f.described
	putGGUF(b, key)
	switch v := v.(type) {
	case uint32:
		putGGUF(b, ggufUint32, v)
	case float32:
		putGGUF(b, ggufFloat32, v)
	case bool:
		putGGUF(b, ggufBool, v)
	case string:
		putGGUF(b, ggufString, v)
	case []int32:
		putGGUF(b, ggufArray, ggufInt32, uint64(len(v)), v)
	case []float32:
		putGGUF(b, ggufArray, ggufFloat32, uint64(len(v)), v)
	case []string:
		putGGUF(b, ggufArray, ggufString, uint64(len(v)))
		for _, s := range v {
			putGGUF(b, s)
		}
	}
}

// ggufAlignment is the alignment of tensors, in bytes.
const ggufAlignment = 32

// padGGUF pads b to the alignment.
func padGGUF(b *bytes.Buffer) {
	b.Write(make([]byte, (ggufAlignment-b.Len()%ggufAlignment)%ggufAlignment))
}

// tensor adds 32-bit numbers; the first length of the shape varies fastest.
func (f *ggufFile) tensor(name string, numbers []float32, shape ...uint64) {
	f.tensors++
	putGGUF(&f.list, name, uint32(len(shape)), shape, uint32(0), uint64(f.data.Len()))
	for _, x := range numbers {
		f.data.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	}
	padGGUF(&f.data)
}

// bytes returns the file.
func (f *ggufFile) bytes() []byte {
	var b bytes.Buffer
	putGGUF(&b, []byte("GGUF"), uint32(3), uint64(f.tensors), uint64(f.values))
	b.Write(f.described.Bytes())
	b.Write(f.list.Bytes())
	padGGUF(&b)
	b.Write(f.data.Bytes())
	return b.Bytes()
}

// createModel creates a model with this name on a server; it produces the script.
func createModel(ctx context.Context, client *api.Client, name string, script []scriptLine) error {
	c, err := newTokenChain(script)
	if err != nil {
		return err
	}
	file := c.modelFile()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	if err := client.CreateBlob(ctx, digest, bytes.NewReader(file)); err != nil {
		return fmt.Errorf("send the model of %d bytes: %w", len(file), err)
	}
	create := &api.CreateRequest{
		Model: name, Files: map[string]string{"script.gguf": digest}, Template: chatTemplate(script),
		// Threads busy-wait for each other, which is costly on a machine with other work.
		Parameters: map[string]any{"num_thread": 1},
	}
	if err := client.Create(ctx, create, func(api.ProgressResponse) error { return nil }); err != nil {
		return fmt.Errorf("create the model: %w", err)
	}
	return nil
}

// askScripted asks the model one question, and returns its answer.
func askScripted(t *testing.T, client *api.Client, name, question string) string {
	t.Helper()
	var text strings.Builder
	err := client.Chat(t.Context(), &api.ChatRequest{
		Model: name, Messages: []api.Message{{Role: "system", Content: "Answer."}, {Role: "user", Content: question}},
		Options: map[string]any{"temperature": 0, "num_ctx": 32000},
	}, func(r api.ChatResponse) error {
		text.WriteString(r.Message.Content)
		return nil
	})
	if err != nil {
		t.Fatalf("ask %q: %v", question, err)
	}
	return text.String()
}
