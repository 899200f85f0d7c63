// Package oracle compares Ferrule's answers with those of a real Ironic 39.0.0.
//
// cases/*.txt hold the requests, in scenarios that each start on an empty
// inventory. recorded/*.txt hold what Ironic answered, masked: ids, times, host
// names and tokens are replaced by names, Ironic's wording by <text> save where
// clients look at it. A test run plays the scenarios on Ferrule and compares
// with the recording; the full run also asks a real Ironic a random twentieth
// again. differences.tsv lists the differences that are wanted, each with its
// reason.
//
// A case file is made of lines:
//
//	# comment
//	== NAME [for VAR in A,B|all-states]    a scenario; played once for each value of {VAR}
//	use 1.46                               version of the requests that name none (default 1.115)
//	node n1 [in STATE] [JSON]              create a node (fake-hardware), put it in a state
//	port p1 of n1                          create a port; {p1_mac} is its address
//	set n1 COLUMN=VALUE ...                change the stored row behind the server's back
//	await n1 STATE                         wait for a provision state, compare /states
//	settle n1                              wait until nothing works on the node, compare /states
//	until PATH KEY=VALUE[,VALUE]           wait until an object's key has one of the values
//	let NAME = TEXT                        a name for a text
//	show KEY,LIST/KEY                      record only these keys of a 2xx object, or of its list ("show all" ends it)
//	words                                  record what errors say too ("words any" ends it)
//	before DIRECTIVE / after DIRECTIVE     repeat a directive around each request ("before nothing" ends it)
//	[@VERSION[,VERSION]] [+Header=value] METHOD PATH [BODY] [#ID ID ...] [-> PATH as NAME]
//
// States are written with hyphens (clean-wait). {NAME} is replaced by what was
// captured, {base} by the server's URL. "@-" sends no version header. Percent escapes in a header value are
// decoded. In a body %NUL% is a zero byte, %FF% a byte that is not UTF-8, %2MiB%
// that much text and %DEEP30% thirty nested arrays.
//
// "go test ./compat-tests/oracle -run TestOracle -ferrule URL -ferrule-db FILE"
// compares with a Ferrule that runs already.
package oracle
