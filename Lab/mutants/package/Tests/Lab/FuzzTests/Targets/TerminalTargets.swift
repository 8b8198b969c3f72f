// TerminalUI is not mutated, nor built with what is.
func fuzzTerminalInput(_: [UInt8]) throws(BrokenClaim) {}
func fuzzScreenText(_: [UInt8]) throws(BrokenClaim) {}
func fuzzPNG(_: [UInt8]) throws(BrokenClaim) {}
func fuzzJPEG(_: [UInt8]) throws(BrokenClaim) {}
func fuzzHTML(_: [UInt8]) throws(BrokenClaim) {}
