#if ServiceLifecycleSupport
    import PusherMockServer
    import PusherSwift
    import PusherTestSupport
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import TestSupport
    import Testing

    extension ConnectionScopeTests {
        @Test func aServiceRunsUntilTheGracefulShutdown() async throws {
            try await withServer { server in
                let pusher = Pusher(key: key, options: .local(server))
                try await testGracefulShutdown { trigger in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await pusher.run() }
                        #expect(await server.waitFor { $0.connections.count == 1 })
                        trigger.triggerGracefulShutdown()
                        try await group.waitForAll()
                    }
                }
                #expect(pusher.connection.connectionState == .disconnected)
                #expect(await server.waitFor { $0.connections.isEmpty })
            }
        }

        @Test func aServiceThatIsRefusedThrows() async throws {
            try await withServer { server in
                let pusher = Pusher(key: "wrong", options: .local(server))
                let error = await #expect(throws: PusherError.self) { try await pusher.run() }
                #expect(error?.code == 4001)
            }
        }

        @Test func goingToAnotherServerIsNotTheEndOfAService() async throws {
            try await withServer(.init(apps: [Self.here, Self.there])) { server in
                let (pusher, task) = await move(server) { try await $0.run() }
                #expect(await eventually { pusher.connection.socketId != nil })
                try await server.inject(.close(code: 4001, reason: ""), into: #require(pusher.connection.socketId))
                let error = await #expect(throws: PusherError.self) { try await task.value }
                #expect(error?.code == 4001)
            }
        }

        @Test func aDisconnectUnderWayIsNotTheEndOfAService() async throws {
            try await withServer { server in
                let pusher = try await makeDisconnecting(server)
                let task = Task.immediate { try await pusher.run() }
                #expect(await eventually { pusher.connection.socketId != nil })
                try await server.inject(.close(code: 4001, reason: ""), into: #require(pusher.connection.socketId))
                let error = await #expect(throws: PusherError.self) { try await task.value }
                #expect(error?.code == 4001)
            }
        }
    }
#endif
