import Foundation
import MatrixSDK

/// Who is logged in, with the token.
struct MatrixCredentialFile {
    private let store = PrivateFile("matrix.json", ifReadByOthers: "log out everywhere and log in again")

    var file: URL { store.file }

    var exists: Bool { store.exists }

    func load() throws(CommandFailure) -> MXCredentials {
        guard let data = try store.read() else {
            throw CommandFailure(.refused, "not logged in: run pusher-cli matrix login")
        }
        guard let credentials = try? JSONDecoder().decode(MXCredentials.self, from: data),
            credentials.accessToken != nil, credentials.userId != nil, credentials.homeServer != nil
        else {
            throw CommandFailure(
                .badData, "\(file.path) is not in the format of pusher-cli matrix login: delete it, and log in again")
        }
        return credentials
    }

    func save(_ credentials: MXCredentials) throws(CommandFailure) {
        guard let data = try? JSONEncoder().encode(credentials) else {
            throw CommandFailure(.badData, "the credentials cannot be written as JSON")
        }
        try store.write(data)
    }

    /// Nobody is logged in any more.
    func remove() throws(CommandFailure) { try store.remove() }

    /// Makes the folder, and keeps others out of it.
    func makeFolder() throws(CommandFailure) { try store.makeFolder() }
}
