import Foundation
import MatrixSDK

/// Who is logged in, with the token.
struct MatrixCredentialFile {
    private let store = PrivateFile("matrix.json", ifReadByOthers: "log out everywhere and log in again")

    var file: URL { store.file }

    func load() throws(CommandFailure) -> MXCredentials {
        guard let credentials = try loadIfPresent() else {
            throw CommandFailure(.refused, "not logged in: run pusher-cli matrix login")
        }
        return credentials
    }

    /// Nil if nobody is logged in.
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

    /// - Parameter old: What is replaced; nil for nothing. If it is something else by now, somebody has logged in meanwhile.
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

    /// The login with this token is over. What another login has left there meanwhile stays.
    ///
    /// - Parameter others: Removes what else there is of the login; not called if there is another login.
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

    /// Makes the folder, and keeps others out of it.
    func makeFolder() throws(CommandFailure) { try store.makeFolder() }
}
