package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
)

// FileName is the name of a workspace's configuration file, at its top.
const FileName = "agent.toml"

// maxConfig is the maximum size of a configuration file, in bytes.
const maxConfig = 64 << 10

// readRows reads a configuration file that may hold the rows which may admits, and returns their texts by name; a value
// that is not set is absent. An unknown key is an error that names it: a misspelt limit must not mean no limit.
func readRows(rows []Setting, may func(scope) bool, data []byte) (map[string]string, error) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(k Setting) bool { return !may(k.scope) })
	into := reflect.New(fileType(rows)).Elem()
	if err := decodeStrict(data, into.Addr().Interface()); err != nil {
		return nil, err
	}
	v := map[string]string{}
	for _, k := range rows {
		table, key := k.fileKey()
		held := into
		if table != "" {
			held = held.FieldByName(fieldName(table))
		}
		text, err := k.kind.write(k.Name, held.FieldByName(fieldName(key)).Interface())
		if err != nil {
			return nil, err
		}
		// A workspace's limit of "0" would mean no limit.
		if text != "" && (text != "0" || k.scope == userOnly) {
			v[k.Name] = text
		}
	}
	return v, nil
}

// ofWorkspace reports whether a workspace's own file may hold a setting, within limits.
func ofWorkspace(s scope) bool { return s != noFile && s != userOnly }

// ofUser reports whether the user's file may hold a setting.
func ofUser(s scope) bool { return s != noFile }

// fileKey returns the place of a setting in a file: its table, or "", and its key in it.
func (k Setting) fileKey() (table, key string) {
	name := k.Name
	if k.file != "" {
		name = k.file
	}
	if table, key, ok := strings.Cut(name, "."); ok {
		return table, key
	}
	return "", name
}

// fileType returns the type of a file that holds the rows. It is a struct, since the library is strict only with
// structs.
func fileType(rows []Setting) reflect.Type {
	var tables []string
	fields := map[string][]reflect.StructField{}
	for _, k := range rows {
		table, key := k.fileKey()
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
		fields[table] = append(fields[table], fileField(key, k.kind.toml))
	}
	top := fields[""]
	for _, table := range tables {
		if table != "" {
			top = append(top, fileField(table, reflect.StructOf(fields[table])))
		}
	}
	return reflect.StructOf(top)
}

// fileField returns the field for a key in such a struct.
func fileField(key string, holds reflect.Type) reflect.StructField {
	return reflect.StructField{Name: fieldName(key), Type: holds, Tag: reflect.StructTag(fmt.Sprintf(`toml:%q`, key))}
}

// fieldName returns the name of the field for a key, which reflection requires to be exported.
func fieldName(key string) string { return "Key_" + key }

// decodeStrict reads TOML and refuses every key that into has no place for. Errors name the line, since that is where
// the user will go.
func decodeStrict(data []byte, into any) error {
	d := toml.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	// The first unknown key is enough: the user fixes one at a time.
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: there is no key %q", line, strings.Join(unknown.Errors[0].Key(), "."))
	}
	// The library's own text quotes the file, which may hold a password, so the error tells only the position.
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, column := syntax.Position()
		problem := strings.TrimPrefix(syntax.Error(), "toml: ")
		// For a value that does not fit, the library names a type of this program.
		if wrong, ok := strings.CutPrefix(problem, "cannot decode TOML "); ok && len(syntax.Key()) > 0 {
			wrong, _, _ = strings.Cut(wrong, " into ")
			problem = strings.Join(syntax.Key(), ".") + " must not be a TOML " + wrong
		}
		return fmt.Errorf("line %d, column %d: %s", line, column, problem)
	}
	return err
}

// ReadFile returns the content of a configuration file, or nil if there is none. It reads only a regular file, and
// follows a link only if follow is set: a workspace may hold anything.
func ReadFile(path string, follow bool) ([]byte, error) {
	// Opening a FIFO must not wait for a writer that never comes.
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxConfig {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxConfig>>10)
	}
	// The size was checked; a file that grows meanwhile is read up to its former size.
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n < len(data) && err != nil {
		return nil, err
	}
	return data, nil
}

// UserPath returns the location of the user's configuration, or "" without a home directory.
func UserPath(getenv func(string) string) string {
	// Without the variable it is ~/.config, by the same specification.
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores relative paths
		if getenv("HOME") == "" {
			return ""
		}
		dir = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(dir, "agent", "config.toml")
}
