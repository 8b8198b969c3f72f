import CommandKit
import Foundation
import MatrixSDK

/// The stored login with its token. Besides the login that all commands use, there can be others for `chat`.
package struct MatrixCredentialFile {
    private static let name = "matrix.json"
    private static let prefix = "matrix-%40"

    private let store: UserFile

    /// - Parameter user: The user of an additional login; `nil` for the first one.
    package init(beside user: String? = nil) {
        let encoded = user?.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", ".", "_"]))
        self.init(named: encoded.map { "matrix-\($0).json" } ?? Self.name)
    }

    private init(named name: String) {
        store = UserFile(name, ifReadByOthers: "log out everywhere and log in again")
    }

    /// All stored logins: the first one, then the others by name.
    static var all: [MatrixCredentialFile] {
        let first = MatrixCredentialFile()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: first.store.folder.path)) ?? []
        let others = names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".json") }.sorted()
        return (first.store.exists ? [first] : []) + others.map { MatrixCredentialFile(named: $0) }
    }

    /// Returns the login of a user: `@alice:example.org`, or `alice` if that is unique.
    static func of(_ user: String) throws(CommandFailure) -> MatrixCredentialFile {
        var fitting: [MatrixCredentialFile] = []
        for file in all {
            guard let id = try file.loadIfPresent()?.userId else { continue }
            if id == user { return file }
            if id.hasPrefix("@\(user):") { fitting.append(file) }
        }
        guard let file = fitting.first, fitting.count == 1 else {
            throw CommandFailure(
                .refused,
                fitting.isEmpty ? "\(user) is not logged in" : "more than one \(user) is logged in: give the server")
        }
        return file
    }

    var file: URL { store.file }

    func load() throws(CommandFailure) -> MXCredentials {
        guard let credentials = try loadIfPresent() else {
            throw CommandFailure(.refused, "not logged in: run pusher-cli matrix login")
        }
        return credentials
    }

    /// Returns `nil` if there is no login.
    func loadIfPresent() throws(CommandFailure) -> MXCredentials? {
        guard let data = try store.read() else { return nil }
        guard let credentials = try? JSONDecoder().decode(MXCredentials.self, from: data),
            credentials.accessToken != nil, credentials.userId != nil, credentials.homeServer != nil
        else {
            throw CommandFailure(
                .badData, "\(file.path) is not in the format of pusher-cli matrix login: delete it, and log in again")
        }
        return credentials
    }

    /// - Parameter old: The login to replace, if any. If the file has changed, another process has logged in.
    func save(_ credentials: MXCredentials, insteadOf old: MXCredentials?) throws(CommandFailure) {
        guard let data = try? JSONEncoder().encode(credentials) else {
            throw CommandFailure(.badData, "the credentials cannot be written as JSON")
        }
        try store.locking { () throws(CommandFailure) in
            guard try loadIfPresent()?.accessToken == old?.accessToken else {
                throw CommandFailure(.refused, "\(file.path) was written meanwhile: somebody else has logged in")
            }
            try store.write(data)
        }
    }

    /// Removes the login with this token. A newer login in the same file stays.
    ///
    /// - Parameter others: Removes everything else of the login; not called if there is a newer login.
    func remove(_ accessToken: String?, and others: () throws(MatrixError) -> Void = {}) throws {
        let result = try store.locking { () throws(CommandFailure) -> Result<Void, MatrixError> in
            if let present = try loadIfPresent() {
                guard present.accessToken == accessToken else { return .success(()) }
                try store.remove()
            }
            return Result(catching: others)
        }
        try result.get()
    }

    /// Creates the folder and makes it private.
    func makeFolder() throws(CommandFailure) { try store.makeFolder() }
}
