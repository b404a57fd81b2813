package remote

// Script is for `sh -c`: it receives this program on standard input, from Dial with push, and
// becomes its agent. It is one line of POSIX shell without single quotes and exclamation marks, so
// that '…' quotes it in every login shell.
const Script = `exit 1`
