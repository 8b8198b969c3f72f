import Basics
import Foundation
import MatrixProtocol
import MatrixSDK

/// What a homeserver has of a room between two points of the sync (`GET /rooms/{roomId}/messages`).
struct MatrixHistory: Sendable {
    struct Answer {
        /// Oldest first.
        var events: [MXEvent] = []
        /// Why there may be more, before these; nil if these are all.
        var failure: String?
    }

    /// Events of a page, and pages and bytes of an answer: a homeserver can say for ever that there is more.
    private static let pageSize = 100
    private static let maximumPages = 1000
    private static let maximumBytes = 16 << 20
    /// How often one page is asked for, while the homeserver answers.
    private static let maximumTries = 8
    private static let pause = Duration.seconds(1)
    private static let maximumPause = Duration.seconds(30)

    let client: MXRestClient

    /// Waits as long as the homeserver cannot be reached. What was said before the user joined is left out.
    ///
    /// - Parameters:
    ///   - start: The token of a sync.
    ///   - end: The `prev_batch` of a timeline.
    ///   - onTrouble: Gets what goes wrong first, and is tried again.
    /// - Returns: Nil if the login is not valid any more, or the task is cancelled.
    func events(
        of room: String, from start: String, to end: String, onTrouble: (String) -> Void
    ) async -> Answer? {
        var (answer, newestFirst, byteCount) = (Answer(), [MXEvent](), 0)
        var token = end
        loop: for number in 0...Self.maximumPages {
            guard number < Self.maximumPages, byteCount < Self.maximumBytes else {
                answer.failure = "a sync left more out of \(room) than a relay reads"
                break
            }
            let page: MXPaginationResponse
            switch await self.page(of: room, before: token, after: start, onTrouble) {
            case .success(let found)?: page = found
            case .failure(let error)?:
                answer.failure = "cannot read what a sync left out of \(room): \(error.text)"
                break loop
            case nil: return nil
            }
            for event in page.chunk {
                newestFirst.append(event)
                byteCount += event.clearJSON.data.count
                if event.isJoining(of: client.credentials?.userId ?? "") { break loop }
            }
            guard let next = page.end, next != token else {
                // The sync said that something was left out.
                if newestFirst.isEmpty { answer.failure = "the homeserver has not what a sync left out of \(room)" }
                break
            }
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
        of room: String, before token: String, after start: String, _ onTrouble: (String) -> Void
    ) async -> Result<MXPaginationResponse, Refusal>? {
        var (tries, pause) = (1, Self.pause)
        var isTold = false
        while !Task.isCancelled {
            do {
                return .success(
                    try await client.messages(
                        forRoom: room, from: token, to: start, direction: .backwards, limit: Self.pageSize))
            } catch {
                guard !Task.isCancelled else { return nil }
                switch Trouble(error) {
                case .loggedOut: return nil
                case .final: return .failure(Refusal(text: "\(error)"))
                case .unreachable: break
                case .passing:
                    if tries == Self.maximumTries { return .failure(Refusal(text: "\(error)")) }
                    tries += 1
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
            case let error as MXError:
                self = error.status == 401 ? .loggedOut : error.status == 429 || error.status >= 500 ? .passing : .final
            case let error as MatrixError:
                switch error.code {
                case .network: self = .unreachable
                case .unauthenticated: self = .loggedOut
                // Proxies answer for a homeserver that starts.
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
