import Basics
import CurlTransport
import Foundation
import MatrixProtocol
import MatrixSDK

/// Reads a homeserver's history of a room between two points of the sync (`GET /rooms/{roomId}/messages`).
struct MatrixHistory: Sendable {
    struct Answer {
        /// The events, oldest first.
        var events: [MXEvent] = []
        /// The reason why events before these may be missing, if any.
        var failure: String?
    }

    private static let pageSize = 100
    private static let pause = Duration.seconds(1)
    private static let maximumPause = Duration.seconds(30)

    let client: MXRestClient
    /// A homeserver can claim forever that there is more.
    var maximumPages = 1000
    var maximumBytes = 16 << 20
    /// The time limit for one page, while the homeserver answers.
    var patience = Duration.seconds(900)

    /// Returns the events between two points. Waits while the homeserver cannot be reached. Leaves out events from when
    /// the user was not in the room.
    ///
    /// - Parameters:
    ///   - start: The token of a sync, at which the user was in the room.
    ///   - end: The `prev_batch` of a timeline, at which the user was in the room.
    ///   - onTrouble: Receives the first failure of each page that is retried.
    /// - Returns: Nil if the login is not valid any more, or the task is cancelled.
    func events(
        of room: String, from start: String, to end: String, onTrouble: (String) -> Void
    ) async -> Answer? {
        // Not every homeserver stops at `start`.
        var last: String?
        switch await page(of: room, before: start, after: nil, limit: 1, onTrouble) {
        case .success(let page)?: last = page.chunk.first?.eventId
        case .failure?: break
        case nil: return nil
        }
        let user = client.credentials?.userId ?? ""
        var (answer, newestFirst, byteCount) = (Answer(), [MXEvent](), 0)
        var (token, isMember) = (end, true)
        pages: for number in 0...maximumPages {
            guard number < maximumPages, byteCount < maximumBytes else {
                answer.failure = "it is more than a relay reads"
                break
            }
            let page: MXPaginationResponse
            switch await self.page(of: room, before: token, after: start, limit: Self.pageSize, onTrouble) {
            case .success(let found)?: page = found
            case .failure(let refusal)?:
                answer.failure = refusal.text
                break pages
            case nil: return nil
            }
            for event in page.chunk {
                if event.eventId == last { break pages }
                if event.isLeaving(of: user) { isMember = true }
                guard isMember else { continue }
                newestFirst.append(event)
                byteCount += event.clearJSON.data.count
                if event.isJoining(of: user) { isMember = false }
            }
            guard let next = page.end, next != token else { break }
            token = next
        }
        answer.events = newestFirst.reversed()
        return answer
    }

    private struct Refusal: Error {
        let text: String
    }

    /// - Returns: Nil as above.
    private func page(
        of room: String, before token: String, after start: String?, limit: Int, _ onTrouble: (String) -> Void
    ) async -> Result<MXPaginationResponse, Refusal>? {
        let end = MonotonicInstant.now + patience
        var (pause, isTold) = (Self.pause, false)
        while !Task.isCancelled {
            do {
                return .success(
                    try await client.messages(
                        forRoom: room, from: token, to: start, direction: .backwards, limit: limit))
            } catch {
                guard !Task.isCancelled else { return nil }
                switch Trouble(error) {
                case .loggedOut: return nil
                case .final: return .failure(Refusal(text: "\(error)"))
                case .unreachable: break
                case .passing: if .now > end { return .failure(Refusal(text: "\(error)")) }
                }
                if !isTold { onTrouble("\(error)") }
                isTold = true
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.maximumPause)
            }
        }
        return nil
    }

    private enum Trouble {
        case unreachable, passing, final, loggedOut

        init(_ error: any Error) {
            switch error {
            case let error as MXError where error.errcode == kMXErrCodeStringUnknownToken: self = .loggedOut
            case let error as MXError: self = error.status == 429 || error.status >= 500 ? .passing : .final
            case let error as MatrixError:
                switch error.code {
                case .network: self = .unreachable
                case .unauthenticated: self = .loggedOut
                // Proxies send these for a homeserver that is starting.
                case .timedOut, .http, .badResponse: self = .passing
                case .cancelled, .tooLarge, .invalidArgument, .encryptionNotAvailable, .identityChanged,
                    .interactionRequired, .roomNotFound, .eventNotFound, .store, .file:
                    self = .final
                }
            default: self = .final
            }
        }
    }
}
