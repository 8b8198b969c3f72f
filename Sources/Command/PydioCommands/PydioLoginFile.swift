import Basics
package import CommandKit
import Foundation
import PydioSDK

/// The stored logins at Pydio servers.
package struct PydioLoginFile {
    private struct Content: Codable {
        /// The logins; the last one is the default.
        var logins: [PydioLogin] = []
        var pending: PydioPendingLogin?
    }

    let store = UserFile("pydio.json", ifReadByOthers: "log out everywhere and log in again")

    package init() {}

    private func load() throws(CommandFailure) -> Content {
        guard let data = try store.read() else { return Content() }
        guard let content = try? JSONDecoder().decode(Content.self, from: data) else {
            throw CommandFailure(
                .badData,
                "\(store.file.path) is not in the format of pusher-cli pydio login: delete it, and log in again")
        }
        return content
    }

    /// Returns the logins in chronological order.
    func logins() throws(CommandFailure) -> [PydioLogin] { try load().logins }

    /// Returns the login that is waiting for a code.
    func pending() throws(CommandFailure) -> PydioPendingLogin? { try load().pending }

    /// Returns the login of a server, or the latest.
    ///
    /// - Parameter server: An address, or a host that only one of them uses.
    package func login(_ server: String?) throws(CommandFailure) -> PydioLogin {
        let logins = try logins()
        guard let last = logins.last else {
            throw CommandFailure(.refused, "not logged in: run pusher-cli pydio login")
        }
        guard let server else { return last }
        if let url = URL(string: server), let login = logins.first(where: { PydioLogin.isSame($0.server, url) }) {
            return login
        }
        let onHost = logins.filter { $0.server.host == server }
        guard onHost.count <= 1 else {
            let addresses = onHost.map(\.server.absoluteString).joined(separator: " ")
            throw CommandFailure(.badData, "\(onHost.count) servers are on \(server); give an address: \(addresses)")
        }
        guard let login = onHost.first else {
            throw CommandFailure(.refused, "not logged in at \(server): run pusher-cli pydio login \(server)")
        }
        return login
    }

    /// Stores a login as the latest, and ends the wait for a code.
    func add(_ login: PydioLogin) throws(CommandFailure) {
        try change { content in
            content.logins.removeAll { PydioLogin.isSame($0.server, login.server) }
            content.logins.append(login)
            content.pending = nil
        }
    }

    func wait(for pending: PydioPendingLogin) throws(CommandFailure) {
        try change { $0.pending = pending }
    }

    /// Stores the session of a login, unless there was a logout or a new login in the meantime.
    func renew(_ old: PydioLogin, as new: PydioLogin) throws(CommandFailure) {
        try change { content in
            guard
                let index = content.logins.firstIndex(where: {
                    PydioLogin.isSame($0.server, old.server) && $0.deviceID == old.deviceID
                        && $0.user.isExactly(old.user)
                        && $0.password == old.password
                })
            else { return }
            content.logins[index] = new
        }
    }

    func remove(_ login: PydioLogin) throws(CommandFailure) {
        try change { content in content.logins.removeAll { PydioLogin.isSame($0.server, login.server) } }
    }

    private func change(_ body: (inout Content) -> Void) throws(CommandFailure) {
        try store.locking { () throws(CommandFailure) in
            var content = try load()
            body(&content)
            guard !content.logins.isEmpty || content.pending != nil else { return try store.remove() }
            guard let data = try? JSONEncoder().encode(content) else {
                throw CommandFailure(.badData, "the login cannot be written as JSON")
            }
            try store.write(data)
        }
    }
}
