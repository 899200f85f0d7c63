// Package openapi is the description of the Bare Metal API and the tables that
// are generated from it: routes, query parameters, resources and their fields,
// each with the microversions in which it exists. ironic.yaml is the source;
// the rest of the product asks these tables and never repeats them. The package
// imports nothing but the standard library.
package openapi

import (
	_ "embed"
	"strconv"
)

//go:generate go run ./gen -in ironic.yaml -out tables_gen.go

// YAML is the description as it is served at /openapi.yaml.
//
//go:embed ironic.yaml
var YAML []byte

// Version is a microversion of API 1: the number after "1.".
type Version int

// String is the version as clients write it.
func (v Version) String() string { return "1." + strconv.Itoa(int(v)) }

// Gate is what a request older than a route gets.
type Gate string

// The gates.
const (
	GateNone     Gate = ""
	GateFault404 Gate = "fault-404" // not found, raised in the handler
	GateFault405 Gate = "fault-405"
	GateFault406 Gate = "fault-406"
	GateRoute404 Gate = "route-404" // not found, raised while routing
	GateRoute405 Gate = "route-405" // what the path's object takes is allowed
	GateRoute406 Gate = "route-406"
	GateTold404  Gate = "told-404" // while routing, and with a word on the version
	GateTold405  Gate = "told-405"
	// Raised in the handler once it has looked at the arguments, or at the object.
	GateLate404 Gate = "late-404"
	GateLate406 Gate = "late-406"
)

// About is what an operation's policies are asked about.
type About string

// What policies are asked about.
const (
	AboutRequest About = "request" // the call alone
	AboutNode    About = "node"    // the node of the path
	AboutPort    About = "port"    // the port of the path
	AboutList    About = "list"    // the first opens all, the second what is the caller's own
	AboutHandler About = "handler" // the handler asks them itself
)

// Operation is one method of one path.
type Operation struct {
	ID        string
	Method    string
	Path      string // with {parameters}
	Min       Version
	AlsoAt    Version // one older version at which the route answers too; 0: none
	TooOld    Gate
	Success   int   // status
	BodyLimit int64 // bytes; 0: the usual limit
	Public    bool  // no authentication in any mode
	Keywords  bool  // takes its arguments from the body or from the query
	Own       bool  // Ferrule's own route, outside microversions
	Policies  []string
	About     About
	Resource  string
	Params    []Param
	Args      []Arg
}

// Arg is an argument of an operation in its body. Those of an operation that
// takes a whole object are the object's fields.
type Arg struct {
	Name string
	Kind FieldKind // "": any
	Min  Version
	// Since are the words that are newer than the argument.
	Since map[string]Version
}

// ParamKind is the type of a query parameter.
type ParamKind string

// The kinds of query parameter.
const (
	ParamString ParamKind = "string"
	ParamBool   ParamKind = "bool"
	ParamInt    ParamKind = "int"
	ParamList   ParamKind = "list"
)

// Param is a query parameter of an operation.
type Param struct {
	Name   string
	Kind   ParamKind
	Min    Version
	TooOld int // status for an older request
}

// Field is one property of a resource.
type Field struct {
	Name      string
	Kind      FieldKind
	Nullable  bool
	MaxLength int // 0: no limit
	Min, Max  Version
	List      bool // in the default list view
	Detail    bool // in the detailed view
	Select    bool // accepted in fields=
	Sort      bool // accepted as sort_key
	Patch     bool // accepted as root of a patch
	Create    bool // accepted in the body of a create
	Masked    bool // holds secrets that answers mask
	// Accepted before Min as well, though not shown: in fields=, as sort_key.
	EarlySelect, EarlySort bool
}

// FieldKind is the JSON type of a field.
type FieldKind string

// The kinds of field.
const (
	FieldString  FieldKind = "string"
	FieldUUID    FieldKind = "uuid"
	FieldTime    FieldKind = "date-time"
	FieldBool    FieldKind = "boolean"
	FieldInteger FieldKind = "integer"
	FieldObject  FieldKind = "object"
	FieldArray   FieldKind = "array"
)

// VisibleAt reports whether the field exists at version v.
func (f *Field) VisibleAt(v Version) bool { return v >= f.Min && v <= f.Max }

// Resource is a kind of object with its fields in the order in which answers
// list them.
type Resource struct {
	Name   string
	Fields []Field
	index  map[string]int
}

// Field is the field called name, and its index.
func (r *Resource) Field(name string) (*Field, int, bool) {
	i, ok := r.index[name]
	if !ok {
		return nil, 0, false
	}
	return &r.Fields[i], i, true
}

func newResource(name string, fields []Field) *Resource {
	r := &Resource{Name: name, Fields: fields, index: make(map[string]int, len(fields))}
	for i, f := range fields {
		r.index[f.Name] = i
	}
	return r
}

// Arg is the argument in the body called name; it is one of the description.
func (o *Operation) Arg(name string) Arg {
	for _, a := range o.Args {
		if a.Name == name {
			return a
		}
	}
	return Arg{}
}

// Param is the query parameter called name.
func (o *Operation) Param(name string) (*Param, bool) {
	for i := range o.Params {
		if o.Params[i].Name == name {
			return &o.Params[i], true
		}
	}
	return nil, false
}
