extension String {
    private static let maximumLoggedLength = 1000

    /// Fit for one line of a log, whoever wrote it: not longer than 1,000 characters, without anything that ends lines,
    /// drives terminals or turns the direction of writing, and without signatures, which servers repeat in their errors.
    package var asLogLine: String {
        if utf8.count < 64, utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
        var line = String.UnicodeScalarView()
        for scalar in unicodeScalars.prefix(Self.maximumLoggedLength) {
            line.append(scalar.isFitForLogs ? scalar : "\u{FFFD}")
        }
        return String(line).replacing(/[0-9a-fA-F]{64}/, with: "…")
    }
}

extension Unicode.Scalar {
    fileprivate var isFitForLogs: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        default: !properties.isBidiControl
        }
    }
}
