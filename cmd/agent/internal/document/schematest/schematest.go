// Package schematest generates the JSON schemas of documents from their Go types, for docs/schema, and validates
// documents against them in tests. The schema describes a type or a field with its Go comment.
package schematest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"agent/cmd/agent/internal/document"
)

// A Generator makes schemas for the types of one module.
type Generator struct {
	root, module string
	packages     map[string]*pkg // by import path
}

// A pkg is what the source of a package says about its types.
type pkg struct {
	comments map[string]string   // by "Type" and "Type.Field"
	values   map[string][]string // the constants of each string type
}

// New returns a generator for the module of that name at root.
func New(root, module string) *Generator {
	return &Generator{root, module, map[string]*pkg{}}
}

// Schema returns the schema of a document in the form of its file in docs/schema.
func (g *Generator) Schema(d document.Doc) ([]byte, error) {
	m := &maker{Generator: g, defs: map[string]any{}}
	body, err := m.schema(d.Type)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", d.Name, err)
	}
	schema := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": d.ID(), "title": d.Name}
	for key, v := range body {
		schema[key] = v
	}
	if len(m.defs) > 0 {
		schema["$defs"] = m.defs
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(schema)
	return text.Bytes(), err
}

// A maker makes one schema.
type maker struct {
	*Generator
	defs map[string]any
}

var (
	texts   = reflect.TypeFor[encoding.TextMarshaler]()
	objects = reflect.TypeFor[json.Marshaler]()
)

// schema returns a schema that every value of the type satisfies.
func (m *maker) schema(t reflect.Type) (map[string]any, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}, nil
	case reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "contentEncoding": "base64"}, nil
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		switch {
		case t.Implements(objects) || reflect.PointerTo(t).Implements(objects):
			return nil, fmt.Errorf("%v has a form of its own", t)
		case t.Implements(texts) || reflect.PointerTo(t).Implements(texts):
			return map[string]any{"type": "string"}, nil
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.String:
		return m.text(t)
	case reflect.Interface:
		return map[string]any{}, nil
	case reflect.Pointer:
		return m.schema(t.Elem())
	case reflect.Slice, reflect.Array:
		items, err := m.schema(t.Elem())
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := m.schema(t.Elem())
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return m.reference(t)
	}
	return nil, fmt.Errorf("%v is in no document", t)
}

// text returns the schema of a string type. If the type has more than one constant, only these are valid, or an empty string.
func (m *maker) text(t reflect.Type) (map[string]any, error) {
	schema := map[string]any{"type": "string"}
	p, err := m.source(t)
	if err != nil || p == nil {
		return schema, err
	}
	if values := p.values[t.Name()]; len(values) > 1 {
		if !slices.Contains(values, "") {
			values = append(slices.Clone(values), "")
		}
		schema["enum"] = values
	}
	return schema, nil
}

// reference adds a struct to the definitions and returns a reference to it.
func (m *maker) reference(t reflect.Type) (map[string]any, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(t.PkgPath(), m.module+"/"), "/", ".") + "." + t.Name()
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if _, there := m.defs[name]; there {
		return ref, nil
	}
	def := map[string]any{"type": "object"}
	m.defs[name] = def // added before its fields, which may have its own type
	p, err := m.source(t)
	if err != nil {
		return nil, err
	}
	if p != nil && p.comments[t.Name()] != "" {
		def["description"] = p.comments[t.Name()]
	}
	properties, required := map[string]any{}, []string{}
	if err := m.fields(t, properties, &required); err != nil {
		return nil, err
	}
	slices.Sort(required)
	def["properties"], def["required"] = properties, required
	return ref, nil
}

// fields adds the fields of a struct. Those of embedded structs come last: a name in the outer one takes precedence, as
// in encoding/json.
func (m *maker) fields(t reflect.Type, properties map[string]any, required *[]string) error {
	p, err := m.source(t)
	if err != nil {
		return err
	}
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			embedded = append(embedded, f.Type)
			continue
		case !f.IsExported() || tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		if _, there := properties[name]; there {
			continue
		}
		schema, err := m.schema(f.Type)
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, f.Name, err)
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional {
			*required = append(*required, name)
			schema = nullable(f.Type, schema)
		}
		if p != nil && p.comments[t.Name()+"."+f.Name] != "" {
			schema["description"] = p.comments[t.Name()+"."+f.Name]
		}
		properties[name] = schema
	}
	for _, e := range embedded {
		if err := m.fields(e, properties, required); err != nil {
			return err
		}
	}
	return nil
}

// nullable returns the schema of a field that may be nil and is printed nonetheless.
func nullable(t reflect.Type, schema map[string]any) map[string]any {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return schema
	}
	if kind, ok := schema["type"].(string); ok && schema["enum"] == nil {
		schema["type"] = []string{kind, "null"}
		return schema
	}
	if len(schema) == 0 {
		return schema
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

// source reads what the package of a type says about it, nil for a package of another module.
func (g *Generator) source(t reflect.Type) (*pkg, error) {
	dir, ours := strings.CutPrefix(t.PkgPath(), g.module+"/")
	if p, there := g.packages[t.PkgPath()]; there || !ours {
		return p, nil
	}
	files, err := filepath.Glob(filepath.Join(g.root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &pkg{map[string]string{}, map[string][]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				p.declared(d)
			}
		}
	}
	g.packages[t.PkgPath()] = p
	return p, nil
}

// declared notes the types and constants of one declaration.
func (p *pkg) declared(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			name := spec.Name.Name
			p.comments[name] = sentence(spec.Doc, d.Doc)
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range fields.Fields.List {
				for _, id := range f.Names {
					p.comments[name+"."+id.Name] = sentence(f.Doc, f.Comment)
				}
			}
		case *ast.ValueSpec:
			kind, ok := spec.Type.(*ast.Ident)
			if d.Tok != token.CONST || !ok {
				continue
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						p.values[kind.Name] = append(p.values[kind.Name], text)
					}
				}
			}
		}
	}
}

// sentence returns the first comment that is not empty, on one line.
func sentence(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}

// Validate checks a decoded document against a schema. A field that the schema does not have is an error, although
// readers must expect new ones.
func Validate(schema []byte, doc any) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	top, ok := parsed.(map[string]any)
	if !ok {
		return fmt.Errorf("the schema is not an object")
	}
	if defs, ok := top["$defs"].(map[string]any); ok {
		for _, def := range defs {
			if def, ok := def.(map[string]any); ok {
				def["additionalProperties"] = false
			}
		}
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", top); err != nil {
		return err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	return compiled.Validate(doc)
}
