#if ServiceLifecycleSupport
    public import ServiceLifecycle

    extension Pusher: Service {
        /// Connects, stays connected, and disconnects at a graceful shutdown or when the task is cancelled.
        ///
        /// - Throws: ``PusherError`` if the connection ends for good unexpectedly, such as when the server refuses it.
        public func run() async throws {
            let changes = connectionChanges()
            connect()
            let failure = await cancelWhenGracefulShutdown {
                var lastError: PusherError?
                for await change in changes {
                    switch change {
                    case .connected: lastError = nil
                    case .ended: return lastError
                    case .failed(let error): lastError = error.willRetry ? nil : error
                    }
                }
                return nil
            }
            await disconnected()
            if let failure { throw failure }
        }
    }
#endif
