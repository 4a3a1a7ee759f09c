package llm

import "strings"

// A Vendor is what the product knows of one vendor of models. All rows are listed by
// package vendors; settings, masking, key rings, help and the doctor's checks range
// over them.
type Vendor struct {
	Name  string // first part of its models' names: "gemini"
	Title string // for people: "Gemini"
	Model string // asked when the user names no model: "gemini-2.5-flash"; "" for a vendor that is asked only by name
	Setup string // what a user does to have it answer: "put a key in GEMINI_API_KEYS"
	// Local says that its models run on a machine of the user's own and cost nothing
	// unless a price says otherwise.
	Local bool
	// Tools is how its models are given tools where nobody says otherwise.
	Tools ToolForm
	// Sees says that its models take pictures.
	Sees     bool
	Settings []Setting // in the order in which they are shown
	// Open returns what asks its models at an address, which is the value of its
	// setting of the kind Address, or "" for the vendor's own, which one without a
	// Model does not have. An error is that of the address and quotes no secret part
	// of it.
	Open func(address string) (Provider, error)
	// Host returns the HOST:PORT that an address means, where a user without
	// configuration may have it running. Nil for a vendor with keys.
	Host func(address string) (string, error)
}

// A ToolForm is how a model is given tools.
type ToolForm string

// The forms.
const (
	NativeTools   ToolForm = "native"   // by calls of its own
	EmulatedTools ToolForm = "emulated" // in its texts, see package emulated
	NoTools       ToolForm = "none"     // not at all
)

// A Setting is one value that a vendor takes from the configuration, which has it
// under "VENDOR.NAME".
type Setting struct {
	Kind    SettingKind
	Name    string // "keys"
	File    string // its name in a configuration file, "" for the same
	Env     string // variables with space between, of which the first that is set counts
	Default string
	// Optional says of a KeyList that the vendor can be asked without a key too.
	Optional bool
	About    string // one line of help
	Next     string // what a user does about a wrong value: "use https://HOST"
}

// A SettingKind says what a setting holds, and so how it is read, shown and masked.
type SettingKind int

const (
	// KeyList is credentials with commas between, see ParseKeys. A vendor that has
	// one cannot be asked without a key, unless it is Optional. Its first variable is VENDOR_API_KEYS, which
	// the texts of errors name.
	KeyList SettingKind = iota
	// Address is a host or URL, which may hold a password.
	Address
	// ContextTokens is how many tokens of question and answer the vendor is asked to
	// provide for: from 1,024 to 10 million.
	ContextTokens
)

// Key is the name of a setting in the configuration.
func (v Vendor) Key(s Setting) string { return v.Name + "." + s.Name }

// Setting returns its setting of a kind, and false when it has none.
func (v Vendor) Setting(kind SettingKind) (Setting, bool) {
	for _, s := range v.Settings {
		if s.Kind == kind {
			return s, true
		}
	}
	return Setting{}, false
}

// FindVendor returns the row of rows that the name of a model begins with, as in
// "gemini/gemini-2.5-flash", and what follows: the vendor's own name of it, which may
// hold more slashes. It returns false for a name without a vendor or a model.
func FindVendor(rows []Vendor, name string) (v Vendor, model string, ok bool) {
	vendor, model, _ := strings.Cut(name, "/")
	for _, v := range rows {
		if v.Name == vendor && model != "" {
			return v, model, true
		}
	}
	return Vendor{}, "", false
}
