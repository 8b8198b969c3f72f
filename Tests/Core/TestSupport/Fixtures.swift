package import Foundation

/// The files in the package's folder `Fixtures`.
package enum Fixtures {
    package static func data(_ path: String) throws -> Data {
        try Data(contentsOf: url(path))
    }

    package static func files(_ path: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: url(path), includingPropertiesForKeys: nil)
    }

    package static func text(_ path: String) throws -> String {
        String(decoding: try data(path), as: UTF8.self)
    }

    /// Rewrites a fixture, when the user asks a test to.
    package static func rewrite(_ path: String, _ text: String) throws {
        try Data(text.utf8).write(to: url(path))
    }

    private static func url(_ path: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent()  // TestSupport
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/\(path)")
    }
}
