// The mock server is not built here.

func fuzzHTTPAPI(_: [UInt8]) throws(BrokenClaim) {}

func fuzzClientFrames(_: [UInt8]) throws(BrokenClaim) {}
