package import Foundation

/// The files in the package's folder `Fixtures`.
package enum Fixtures {
    package static func data(_ path: String) throws -> Data {
        try Data(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()  // TestSupport
                .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/\(path)"))
    }

    package static func text(_ path: String) throws -> String {
        String(decoding: try data(path), as: UTF8.self)
    }
}
