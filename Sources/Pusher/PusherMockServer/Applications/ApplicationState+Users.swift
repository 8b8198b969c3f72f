import Basics
import PusherProtocol

extension ApplicationState {
    mutating func signIn(_ socketID: SocketID, auth: String?, userData text: String?) {
        do {
            let user = try authenticatedUser(auth: auth, userData: text ?? "", socketID: socketID)
            signedIn(socketID, as: user, userData: text ?? "")
        } catch {
            refuseSignIn(error.message, to: socketID)
        }
    }

    private func authenticatedUser(
        auth: String?, userData: String, socketID: SocketID
    ) throws(UserData.Malformed) -> UserData {
        guard let auth, !auth.isEmpty else { throw UserData.Malformed(message: "Auth info required to sign in") }
        guard auth.prefix(while: { $0 != ":" }) == credentials.key else {
            throw UserData.Malformed(message: "Invalid key in sign-in auth data")
        }
        guard credentials.accepts(userAuth: auth, socketID: socketID, userData: userData) else {
            throw UserData.Malformed(
                message: "Invalid signature: Expected HMAC SHA256 hex digest of \(socketID)::user::\(userData)")
        }
        let user = try UserData(userData)
        guard connections[socketID]?.user.map({ $0.key == user.key }) ?? true else {
            throw UserData.Malformed(message: "Connection is already signed in as another user")
        }
        return user
    }

    private mutating func refuseSignIn(_ message: String, to socketID: SocketID) {
        switch profile.signInFailure {
        case .error: sendError(message, to: socketID)
        case .unauthorized: sendError("Connection is unauthorized", code: 4009, to: socketID)
        case .close: close(socketID, code: 4009, reason: "Connection not authorized.")
        }
    }

    private mutating func signedIn(_ socketID: SocketID, as user: UserData, userData: String) {
        connections[socketID]?.user = user
        connections[socketID]?.authorizationDeadline = nil
        let isFirstConnection = users[user.key] == nil
        users[user.key, default: []].insert(socketID)
        send(frames.signInSucceeded(userData: userData), to: [socketID])
        if !user.watchlist.isEmpty {
            let frame = frames.watchlist(
                online: user.watchlist.filter { users[$0] != nil }.map(\.string),
                offline: user.watchlist.filter { users[$0] == nil }.map(\.string))
            send(frame, to: [socketID])
        }
        if user.exceedsWatchlistLimit {
            sendError(
                "The watchlist exceeds the allowed maximum (\(UserData.maximumWatchlistSize) users)", code: 4302,
                to: socketID)
        }
        if isFirstConnection {
            send(frames.watchlist(online: [user.id], offline: []), to: watchers(of: user.key, except: socketID))
        }
    }

    mutating func signedOut(_ socketID: SocketID, of user: ByteKey) {
        users[user]?.remove(socketID)
        guard users[user]?.isEmpty == true else { return }
        users[user] = nil
        send(frames.watchlist(online: [], offline: [user.string]), to: watchers(of: user, except: socketID))
    }

    /// - Parameter socketID: a connection that already knows.
    private func watchers(of user: ByteKey, except socketID: SocketID) -> [SocketID] {
        connections.filter { $0.key != socketID && $0.value.user?.watchlist.contains(user) == true }.map(\.key)
    }

    /// Closes every connection that is signed in as `user`; the user may reconnect.
    mutating func terminateConnections(of user: String) {
        for socketID in (users[user] ?? []).sorted(by: { $0.string < $1.string }) {
            close(socketID, code: 4009, reason: "You got disconnected by the app.")
        }
    }
}
