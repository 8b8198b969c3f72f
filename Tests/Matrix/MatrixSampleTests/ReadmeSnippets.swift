// The only import of the programs that these snippets represent.
import SwiftMatrixSDK

/// An application's first steps with the library, as in its manual: with callbacks.
@MainActor
final class ReadmeSnippets {
    let homeServer: String
    var mxRestClient: MXRestClient
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var mxSession: MXSession!
    var events: [String] = []

    init?(homeServer: String) {
        guard let url = URL(string: homeServer) else { return nil }
        self.homeServer = homeServer
        mxRestClient = MXRestClient(homeServer: url, unrecognizedCertificateHandler: nil)
    }

    // MARK: Without an account

    func listPublicRooms(_ done: @escaping ([MXPublicRoom]) -> Void) {
        mxRestClient.publicRooms { response in
            switch response {
            case .success(let rooms):
                // An array that can be printed directly.
                print("Public rooms: \(rooms.count)")
                done(rooms)
            case .failure(let error):
                print("No public rooms: \(error)")
                done([])
            }
        }
    }

    // MARK: With an account

    func logIn(_ username: String, _ password: String, _ done: @escaping (MXCredentials?) -> Void) {
        mxRestClient.login(username: username, password: password) { response in
            done(response.value)
        }
    }

    func makeClient(userId: String, accessToken: String?) {
        let credentials = MXCredentials(homeServer: homeServer, userId: userId, accessToken: accessToken)
        mxRestClient = MXRestClient(credentials: credentials, unrecognizedCertificateHandler: nil)
    }

    func sayHello(in roomId: String, _ done: @escaping (String?) -> Void) {
        mxRestClient.sendTextMessage(toRoom: roomId, text: "Hello world!") { response in
            if case .success(let eventId) = response {
                done(eventId)
            } else {
                done(nil)
            }
        }
    }

    func start(_ done: @escaping (Bool) -> Void) {
        mxSession = MXSession(matrixRestClient: mxRestClient)
        mxSession.start { response in
            guard response.isSuccess else { return done(false) }
            // The session now knows the rooms.
            _ = self.mxSession.rooms
            self.mxSession.rooms()
            done(true)
        }
    }

    func startFromFiles(_ done: @escaping (Int, Bool) -> Void) {
        guard let credentials = mxRestClient.credentials else { return done(0, false) }
        mxSession = MXSession(credentials: credentials)
        let store = MXFileStore()
        mxSession.setStore(store) { response in
            guard response.isSuccess else { return done(0, false) }
            // Stored data can be shown before any request to the server.
            let known = self.mxSession.rooms.count
            self.mxSession.start { response in
                done(known, response.isSuccess)
            }
        }
    }

    // MARK: A room

    func listen(to roomId: String) -> Any? {
        guard let room = mxSession.room(withRoomId: roomId) else { return nil }
        return room.liveTimeline.listenToEvents { event, direction, roomState in
            switch direction {
            case .forwards:
                self.events.append("new \(event.type)")
            case .backwards:
                self.events.append("old \(event.type) in \(roomState?.name ?? "no name")")
            }
        }
    }

    func listenToMessages(of roomId: String, _ heard: @escaping (String) -> Void) {
        mxSession.room(withRoomId: roomId)?.liveTimeline { timeline in
            timeline.listenToEvents([.roomMessage]) { event, _, _ in
                heard(event.content["body"] as? String ?? "")
            }
        }
    }

    func loadHistory(of roomId: String, _ done: @escaping (Bool) -> Void) {
        guard let room = mxSession.room(withRoomId: roomId) else { return done(false) }
        room.liveTimeline.resetPagination()
        let operation: MXHTTPOperation? = room.liveTimeline.paginate(
            10, direction: .backwards, onlyFromStore: false
        ) { response in
            done(response.isSuccess)
        }
        if operation == nil { done(false) }
    }

    func send(_ text: String, to roomId: String, _ done: @escaping (String?) -> Void) -> MXEvent? {
        guard let room = mxSession.room(withRoomId: roomId) else { return nil }
        var localEcho: MXEvent?
        room.sendTextMessage(text, localEcho: &localEcho) { response in
            done(response.value ?? nil)
        }
        return localEcho
    }

    func wave(in roomId: String, _ done: @escaping (Bool) -> Void) {
        mxSession.room(withRoomId: roomId)?.sendEmote("waves") { done($0.isSuccess) }
    }

    // MARK: Push

    func registerForPush(token: Data, gateway: String, _ done: @escaping (Bool) -> Void) {
        mxRestClient.setPusher(
            pushKey: token.base64EncodedString(), kind: .http, appId: "org.example.app.prod",
            appDisplayName: "Example", deviceDisplayName: "A telephone", profileTag: "abcdefghijklmnop", lang: "en",
            data: ["url": gateway], append: false, enabled: true
        ) { response in
            done(response.isSuccess)
        }
    }

    func unregisterFromPush(token: Data, _ done: @escaping (Bool) -> Void) {
        mxRestClient.setPusher(
            pushKey: token.base64EncodedString(), kind: .none, appId: "org.example.app.prod",
            appDisplayName: "Example", deviceDisplayName: "A telephone", profileTag: "abcdefghijklmnop", lang: "en",
            data: [:], append: false, enabled: true
        ) { done($0.isSuccess) }
    }
}
