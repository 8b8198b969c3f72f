import Basics
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import PusherSwift
import TestSupport
import Testing
import Transport

@testable import MatrixSDK

/// Hostile text in any field of a homeserver's answer is never copied verbatim to a log or an error.
@Suite(.overSockets)
struct PeerTextTests {
    private static let hostile = HostileText.json(HostileText.short)

    private func expectFit(_ error: any Error, sourceLocation: SourceLocation = #_sourceLocation) {
        var lines = ["\(error)", error.localizedDescription]
        if let error = error as? MXError { lines += [error.error, error.errcode] }
        if let error = error as? MatrixError { lines.append(error.message) }
        expectFit(lines, sourceLocation: sourceLocation)
    }

    private func expectFit(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        for line in lines where !HostileText.flaws(in: line).isEmpty {
            Issue.record(
                "\(HostileText.flaws(in: line)) in \(line.prefix(300).debugDescription)",
                sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 429, 500, 302, 200], HostileText.all)
    func anAnswer(status: Int, text: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try await FakeHomeserver.start()
        let (client, h) = (MXRestClient.make(server), HostileText.json(text))
        for body in [
            #"{"errcode":\#(h),"error":\#(h),"soft_logout":true,"flows":[{"stages":[\#(h)]}],"session":\#(h)}"#,
            #"{"errcode":"M_FORBIDDEN","error":\#(h)}"#, text, h, "<html>" + text,
        ] {
            let answer = FakeAnswer.json(body, status: status).with("Retry-After", "1").with("Location", "http://x/%0a")
            for (method, path) in [
                ("POST", "v3/createRoom"), ("GET", "v3/rooms/*/messages"), ("POST", "v3/login"),
                ("GET", "/.well-known/matrix/client"), ("GET", "v3/account/whoami"), ("POST", "v3/delete_devices"),
                ("POST", "/_matrix/media/v3/upload"), ("GET", "v1/media/download/*/*"), ("GET", "v1/media/config"),
            ] { server.on(method, path, answer) }
            let calls: [(MXRestClient) async throws -> Void] = [
                { _ = try await $0.createRoom(parameters: MXRoomCreationParameters()) },
                { _ = try await $0.messages(forRoom: "!r:s", from: "a", direction: .backwards) },
                { _ = try await $0.login(username: "a", password: "p") },
                { _ = try await $0.whoAmI() },
                { _ = try await $0.deleteDevices(["d"]) },
                { _ = try await $0.uploadContent(Data("x".utf8), mimeType: "text/plain") },
                { _ = try await $0.downloadContent("mxc://s/1", to: file) },
            ]
            for call in calls where status != 429 {
                do { try await call(client) } catch { expectFit(error) }
            }
        }
    }

    @Test func whatASessionLogsAndTells() async throws {
        let log = LogLines()
        let scene = try await SessionScene {
            $0.logger = log.logger
            $0.reconnectPolicy = .exponential(base: .milliseconds(5), maximumDelay: .milliseconds(20))
        }
        let h = Self.hostile
        let pusher = Pusher(key: "key")
        let errors = pusher.errors
        pusher.attach(scene.session)
        scene.script(
            .json(#"{"errcode":\#(h),"error":\#(h)}"#, status: 500),
            Sync.answer(
                "s1",
                #"""
                "rooms":{"join":{\#(h):{"timeline":{"events":[1,{"type":\#(h)},{"type":\#(h),"event_id":\#(h),"sender":\#(h)}]}},
                "!r:s":1}},"to_device":1,"account_data":{"events":[{"type":\#(h)}]}
                """#))
        try? await scene.session.start()
        for await error in errors {
            expectFit(["\(error)", error.message, error.channelName ?? ""])
            break
        }
        #expect(await scene.isPolled())
        expectFit(log.all)
    }

    @Test func anErrorThatAProgramMakes() {
        let text = HostileText.all.joined()
        expectFit(MXError(errcode: text, error: text))
        expectFit(MatrixError(.network, text))
    }

    @Test func anErrorKeepsWhatItsTextIs() throws {
        let error = try #require(
            MXError(status: 403, body: Array(#"{"errcode":"M_FORBIDDEN","error":"Zoë: não 🙂"}"#.utf8)))
        #expect(error.errcode == kMXErrCodeStringForbidden)
        #expect(error.error == "Zoë: não 🙂")
        #expect("\(error)" == "Zoë: não 🙂 (M_FORBIDDEN)")
    }
}
