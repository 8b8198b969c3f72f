#if NATSRelay
    import CommandKit
    import CurlTransport
    import Basics
    import EventRelay
    import PusherSwift

    /// Runs a relay for a command: reports its events, and ends if it cannot continue.
    final class RelayRun: Sendable {
        private struct State: Sendable {
            var hasStarted = false
            /// The reason for the end.
            var reason: (any ReportableError)?
            var work: Task<Void, any Error>?
            var complaint: (text: String, time: MonotonicInstant)?
        }

        private static let interval = Duration.seconds(60)

        /// The client for the channels; `nil` if there are none.
        private let pusher: Pusher?
        /// Whether only channels are relayed.
        private let isPusherAlone: Bool
        private let state = Lock(State())

        init(pusher: Pusher?, isPusherAlone: Bool) {
            (self.pusher, self.isPusherAlone) = (pusher, isPusherAlone)
        }

        /// - Throws: The error that prevented the relay from starting or continuing.
        func run(_ relay: EventRelay) async throws {
            relay.observe { self.told($0) }
            let errors = pusher?.errors
            let telling = Task {
                guard let errors else { return }
                for await error in errors { failed(error) }
            }
            defer { telling.cancel() }
            StandardError.write("this relay is \(relay.id)")
            let work = Task { try await relay.run() }
            state.withLock { $0.work = work }
            try await SignalWatch.stopping {
                work.cancel()
            } _: {
                try await work.value
            }
            if let reason = state.withLock({ $0.reason }) { throw reason }
        }

        private func told(_ report: RelayReport) {
            switch report {
            case .started: state.withLock { $0.hasStarted = true }
            case .natsFailed(let error) where error.kind == .permission && !state.withLock { $0.hasStarted }:
                // Retrying does not give this user the missing permission.
                return end(error)
            case .connection, .stopped, .lost, .taken, .notTaken, .sourceFailed, .eventLost, .held, .leftBehind,
                .notStored, .natsFailed, .recordUnreadable, .recordForgotten, .termsExhausted, .otherUnits:
                break
            }
            StatusLine.end()
            StandardError.write("\(Complaint.text("\(report)"))")
        }

        /// Handles an error of the client. The relay reports errors that concern a channel.
        private func failed(_ error: PusherError) {
            guard error.channelName == nil, error.explainsWait else { return }
            if !error.willRetry, isPusherAlone { return end(error) }
            let text = Complaint.text(error.message)
            let isNew = state.withLock { state in
                if let last = state.complaint, last.text == text, .now - last.time < Self.interval { return false }
                state.complaint = (text, .now)
                return true
            }
            guard isNew else { return }
            StatusLine.end()
            let rest: TerminalText =
                error.willRetry ? "; trying again, and events of channels may be missed meanwhile" : ""
            StandardError.write("warning: \(text)\(rest)")
        }

        private func end(_ reason: any ReportableError) {
            let work = state.withLock { state in
                if state.reason == nil { state.reason = reason }
                return state.work
            }
            work?.cancel()
        }
    }
#endif
