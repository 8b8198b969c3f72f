import Basics
import Foundation
import TestSupport
import Testing
import Transport

@testable import CommandKit
@testable import MatrixCommands
@testable import PusherCommands

@Suite(.overSockets)
struct PushGatewayTests {
    private func withGateway(
        _ change: (inout PushGateway.Configuration) -> Void = { _ in }, _ body: (PushGateway) async throws -> Void
    ) async throws {
        var configuration = PushGateway.Configuration()
        change(&configuration)
        let gateway = try await PushGateway.start(configuration)
        do { try await body(gateway) } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    /// Returns the gateway's answer on a separate connection: the status and the body.
    private func ask(_ gateway: PushGateway, _ request: String) async throws -> (status: Int, body: String) {
        let port = gateway.port
        let answer = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                guard let peer = SocketServer.Peer.connect(port: port) else {
                    return continuation.resume(returning: "")
                }
                peer.write(request)
                var answer: [UInt8] = []
                while case let bytes = peer.read(), !bytes.isEmpty { answer += bytes }
                close(peer.descriptor)
                continuation.resume(returning: String(decoding: answer, as: UTF8.self))
            }
        }
        let status = try #require(Int(answer.dropFirst(9).prefix(3)), "no answer: \(answer)")
        return (status, answer.components(separatedBy: "\r\n\r\n").dropFirst().joined())
    }

    private func post(_ body: String, path: String = PushGateway.path) -> String {
        "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }

    private func notification(_ eventID: String, _ pushKeys: String...) -> String {
        let devices = pushKeys.map { #"{"app_id":"app-\#($0)","pushkey":"\#($0)"}"# }.joined(separator: ",")
        return #"{"notification":{"event_id":"\#(eventID)","devices":[\#(devices)]}}"#
    }

    @Test func notificationsComeInOrderAndAreAcknowledged() async throws {
        try await withGateway { gateway in
            #expect(gateway.url == "http://127.0.0.1:\(gateway.port)/_matrix/push/v1/notify")
            for number in 1...3 {
                let answer = try await ask(gateway, post(notification("$\(number)", "k")))
                #expect(answer.status == 200)
                #expect(answer.body == #"{"rejected":[]}"#)
            }
            await gateway.stop()
            var events: [String?] = []
            for await notification in gateway.notifications { events.append(notification.eventID) }
            #expect(events == ["$1", "$2", "$3"])
        }
    }

    @Test func keysOfDevicesThatAreNotServedAreRejected() async throws {
        try await withGateway {
            $0.accepts = { $0.appID == "app-ours" }
        } _: { gateway in
            let mixed = try await ask(gateway, post(notification("$1", "ours", "theirs")))
            #expect(mixed.body == #"{"rejected":["theirs"]}"#)
            let none = try await ask(gateway, post(notification("$2", "theirs")))
            #expect(none.status == 200)
            #expect(none.body == #"{"rejected":["theirs"]}"#)
            await gateway.stop()
            var received: [PushNotification] = []
            for await notification in gateway.notifications { received.append(notification) }
            #expect(received.map(\.eventID) == ["$1"])
            #expect(received.first?.devices.map(\.pushKey) == ["ours"])
        }
    }

    @Test func whenTooManyWaitTheHomeserverIsToTryAgain() async throws {
        try await withGateway {
            $0.bufferSize = 2
        } _: { gateway in
            for number in 1...2 {
                #expect(try await ask(gateway, post(notification("$\(number)", "k"))).status == 200)
            }
            let refusal = try await ask(gateway, post(notification("$3", "k")))
            #expect(refusal.status == 429)
            #expect(refusal.body.contains("M_LIMIT_EXCEEDED"))
            var reader = gateway.notifications.makeAsyncIterator()
            #expect(await reader.next()?.eventID == "$1")
            #expect(try await ask(gateway, post(notification("$3", "k"))).status == 200)
            #expect(await reader.next()?.eventID == "$2")
            #expect(await reader.next()?.eventID == "$3")
        }
    }

    @Test func anythingElseIsRefusedWithTheProtocolsErrors() async throws {
        try await withGateway { gateway in
            let requests = [
                (post(notification("$1", "k"), path: "/_matrix/push/v1/other"), 404, "M_UNRECOGNIZED"),
                ("GET \(PushGateway.path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 405, "M_UNRECOGNIZED"),
                (post("{"), 400, "M_NOT_JSON"),
                (post("{}"), 400, "M_BAD_JSON"),
            ]
            for (request, status, errcode) in requests {
                let answer = try await ask(gateway, request)
                #expect(answer.status == status)
                #expect(answer.body.hasPrefix(#"{"errcode":"\#(errcode)""#))
            }
        }
    }

    @Test func aBodyBeyondTheBoundIsRefusedBeforeItsEnd() async throws {
        try await withGateway {
            $0.maximumBodySize = 100
        } _: { gateway in
            let head = "POST \(PushGateway.path) HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
            let answer = try await ask(gateway, head + String(repeating: "x", count: 101))
            #expect(answer.status == 413)
            #expect(answer.body.contains("M_TOO_LARGE"))
        }
    }

    @Test func connectionsThatLeaveARequestUnfinishedAreClosed() async throws {
        try await withGateway {
            $0.idleTimeout = .milliseconds(50)
            $0.maximumConnections = 1
        } _: { gateway in
            let peer = try #require(SocketServer.Peer.connect(port: gateway.port))
            peer.write("POST \(PushGateway.path) HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            let rest = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: peer.read()) }
            }
            #expect(rest.isEmpty)
            close(peer.descriptor)
            #expect(await eventually { (try? await ask(gateway, post(notification("$1", "k"))).status) == 200 })
        }
    }

    /// An occasional byte does not keep a connection open: a client holding all of them would lock out the homeservers.
    @Test(arguments: ["POST /", "POST \(PushGateway.path) HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"])
    func connectionsThatDripBytesAreClosed(start: String) async throws {
        try await withGateway {
            $0.requestTimeout = .milliseconds(300)
            $0.maximumConnections = 4
        } _: { gateway in
            let isOver = Lock(false)
            let closed = Lock(0)
            for _ in 0..<4 {
                let peer = try #require(SocketServer.Peer.connect(port: gateway.port))
                peer.write(start)
                Thread.detachNewThread {
                    while !isOver.withLock({ $0 }), peer.isOpen {
                        peer.write("x")
                        Thread.sleep(forTimeInterval: 0.02)
                    }
                    closed.withLock { $0 += 1 }
                    close(peer.descriptor)
                }
            }
            #expect(await eventually(within: .seconds(10)) { closed.withLock { $0 } == 4 })
            isOver.withLock { $0 = true }
            #expect(try await ask(gateway, post(notification("$1", "k"))).status == 200)
        }
    }

    /// Successive requests, each in time, do not count as dripping.
    @Test func aConnectionThatIsUsedAgainAndAgainStays() async throws {
        try await withGateway {
            $0.requestTimeout = .milliseconds(300)
        } _: { gateway in
            let peer = try #require(SocketServer.Peer.connect(port: gateway.port))
            defer { close(peer.descriptor) }
            let body = notification("$1", "k")
            let head = "POST \(PushGateway.path) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            let answers = await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    var answers = 0
                    for _ in 0..<8 {
                        peer.write(head + body)
                        if !peer.read().isEmpty { answers += 1 }
                        Thread.sleep(forTimeInterval: 0.1)
                    }
                    continuation.resume(returning: answers)
                }
            }
            #expect(answers == 8)
        }
    }

    @Test func connectionsBeyondTheBoundAreClosedAtOnce() async throws {
        try await withGateway {
            $0.maximumConnections = 1
        } _: { gateway in
            let first = try #require(SocketServer.Peer.connect(port: gateway.port))
            first.write("POST ")
            let second = try #require(SocketServer.Peer.connect(port: gateway.port))
            let answer = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: second.read()) }
            }
            #expect(answer.isEmpty)
            close(first.descriptor)
            close(second.descriptor)
        }
    }

    @Test func aPortThatIsTakenIsAnErrorThatNamesIt() async throws {
        try await withGateway { gateway in
            var configuration = PushGateway.Configuration()
            configuration.port = gateway.port
            await #expect {
                _ = try await PushGateway.start(configuration)
            } throws: {
                ($0 as? CommandFailure)?.exitStatus == .unavailable
                    && "\($0)".hasPrefix("cannot listen on 127.0.0.1:\(gateway.port): ")
            }
        }
    }
}

extension SocketServer.Peer {
    /// Whether the other side has kept it open.
    fileprivate var isOpen: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK))
        return count > 0 || count < 0 && errno == EAGAIN
    }
}
