// Package unit reads and prints quantities. Inside the program every number is
// in a base unit (bit/s, packet/s, 1/s, s, s/bit, s/packet, core, byte, 1);
// numbers are scaled where a person reads or writes them, and nowhere else.
//
// It must not compute with quantities.
package unit
