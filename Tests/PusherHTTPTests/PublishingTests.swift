import PusherHTTP
import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct PublishingTests {
    private func client(_ server: PusherMockServer, secret: String = PusherMockServer.App.defaultSecret)
        -> PusherHTTPClient
    {
        PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey, secret: secret,
            host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
    }

    @Test func theServerAcceptsSignedCalls() async throws {
        let server = try await PusherMockServer.start()
        let api = client(server)
        try await api.trigger(event: "e", channels: ["a", "private-b"], data: "☃ \"quoted\"")
        try await api.trigger(event: "e", channels: ["a"], data: "", socketID: "1.2")
        try await api.triggerBatch([
            .init(channel: "a", event: "e", data: "1"), .init(channel: "b", event: "f", data: "2", socketID: "3.4"),
        ])
        let statuses = await server.state.history.compactMap { entry -> Int? in
            if case .httpRequest(_, _, let status) = entry { status } else { nil }
        }
        #expect(statuses == [200, 200, 200])
        await server.stop()
    }

    @Test func encryptedChannelsNeedAMasterKeyAndAreAlone() async throws {
        let server = try await PusherMockServer.start()
        func api(_ masterKey: String?) -> PusherHTTPClient {
            PusherHTTPClient(
                appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey,
                secret: PusherMockServer.App.defaultSecret, host: "127.0.0.1", port: server.port, useTLS: false,
                proxy: "", encryptionMasterKey: masterKey)
        }
        let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try await api(masterKey).trigger(event: "e", channels: ["private-encrypted-x"], data: "x")
        try await api(masterKey).triggerBatch([.init(channel: "private-encrypted-x", event: "e", data: "x")])
        for (masterKey, channels, reason) in [
            (nil, ["private-encrypted-x"], "needs an encryptionMasterKey"),
            ("AAAA", ["private-encrypted-x"], "not base64 of 32 bytes"),
            (masterKey, ["private-encrypted-x", "a"], "goes to that channel alone"),
        ] as [(String?, [String], String)] {
            await #expect {
                try await api(masterKey).trigger(event: "e", channels: channels, data: "x")
            } throws: { error in
                let error = error as? PusherHTTPError
                return error?.kind == .invalidArgument && error?.message.contains(reason) == true
            }
        }
        await server.stop()
    }

    @Test func refusalsAreTyped() async throws {
        let server = try await PusherMockServer.start()
        await #expect {
            try await client(server, secret: "wrong").trigger(event: "e", channels: ["a"], data: "x")
        } throws: { error in
            let error = error as? PusherHTTPError
            return error?.kind == .refused && error?.status == 401 && error?.mayRetry == false
                && "\(error.map { "\($0)" } ?? "")".contains("wrong") == false
        }
        await #expect {
            try await client(server).trigger(
                event: "e", channels: ["a"], data: String(repeating: "x", count: 10_241))
        } throws: { error in
            (error as? PusherHTTPError)?.kind == .rejected && (error as? PusherHTTPError)?.status == 413
        }
        await server.stop()
        await #expect {
            try await client(server).trigger(event: "e", channels: ["a"], data: "x")
        } throws: { error in
            (error as? PusherHTTPError)?.kind == .unreachable && (error as? PusherHTTPError)?.mayRetry == true
        }
    }

    @Test func whatCannotBeRightIsNotSent() async throws {
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: 1, useTLS: false, proxy: "")
        for (channels, socketID) in [
            ([], nil), (["a b"], nil), (["a"], "1.2:x"), ((0...100).map { "c\($0)" }, nil),
        ] as [([String], String?)] {
            await #expect {
                try await api.trigger(event: "e", channels: channels, data: "", socketID: socketID)
            } throws: { error in
                (error as? PusherHTTPError)?.kind == .invalidArgument
            }
        }
        await #expect(throws: PusherHTTPError.self) { try await api.triggerBatch([]) }
        await #expect(throws: PusherHTTPError.self) {
            try await api.triggerBatch((0...10).map { .init(channel: "c", event: "e", data: "\($0)") })
        }
    }
}
