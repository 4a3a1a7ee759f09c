package llm

import "strings"

// A Vendor is what the product knows of one vendor of models. Package vendors lists all rows; settings, masking, key rings, help
// and the doctor's checks iterate over them.
type Vendor struct {
	Name  string // first part of its models' names: "gemini"
	Title string // for people: "Gemini"
	Model string // asked if the user names no model: "gemini-2.5-flash"; "" for a vendor that is asked only by name
	Setup string // what a user does to set it up: "put a key in GEMINI_API_KEYS"
	// Local says that its models run on the user's own machine and cost nothing unless a price says otherwise.
	Local bool
	// Tools is how its models receive tools, unless configured otherwise.
	Tools ToolForm
	// Sees says that its models accept pictures.
	Sees     bool
	Settings []Setting // in the order in which they are shown
	// Open returns a provider for its models at an address: the value of its setting of the kind Address, or "" for the vendor's
	// own address, which a vendor without a Model does not have. An error concerns the address and quotes no secret part of it.
	Open func(address string) (Provider, error)
	// Host returns the HOST:PORT that an address means, at which the vendor may be running even without configuration. Nil for a
	// vendor with keys.
	Host func(address string) (string, error)
}

// A ToolForm says how a model receives tools.
type ToolForm string

// The forms.
const (
	NativeTools   ToolForm = "native"   // by its own calls
	EmulatedTools ToolForm = "emulated" // in its texts, see package emulated
	NoTools       ToolForm = "none"     // not at all
)

// A Setting is one value that a vendor takes from the configuration, where it is called "VENDOR.NAME".
type Setting struct {
	Kind    SettingKind
	Name    string // "keys"
	File    string // its name in a configuration file, "" for the same
	Env     string // variables separated by spaces, of which the first that is set counts
	Default string
	// Optional says that a vendor with a KeyList can also be asked without a key.
	Optional bool
	About    string // one line of help
	Next     string // what a user can do about a wrong value: "use https://HOST"
}

// A SettingKind says what a setting holds, and so how it is read, shown and masked.
type SettingKind int

const (
	// KeyList is credentials separated by commas, see ParseKeys. A vendor that has one cannot be asked without a key, unless it is
	// Optional. Its first variable is VENDOR_API_KEYS, which error texts name.
	KeyList SettingKind = iota
	// Address is a host or URL, which may hold a password.
	Address
	// ContextTokens is how many tokens of question and answer the vendor is asked to provide for: from 1,024 to 10 million.
	ContextTokens
)

// Key returns the name of a setting in the configuration.
func (v Vendor) Key(s Setting) string { return v.Name + "." + s.Name }

// Setting returns the vendor's setting of a kind, and false if it has none.
func (v Vendor) Setting(kind SettingKind) (Setting, bool) {
	for _, s := range v.Settings {
		if s.Kind == kind {
			return s, true
		}
	}
	return Setting{}, false
}

// FindVendor returns the row of rows whose name begins the name of a model, as in "gemini/gemini-2.5-flash", and the rest: the
// vendor's own name of the model, which may hold more slashes. It returns false for a name without a vendor or a model.
func FindVendor(rows []Vendor, name string) (v Vendor, model string, ok bool) {
	vendor, model, _ := strings.Cut(name, "/")
	for _, v := range rows {
		if v.Name == vendor && model != "" {
			return v, model, true
		}
	}
	return Vendor{}, "", false
}
