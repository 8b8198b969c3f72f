import MatrixKit
import MatrixProtocol
import MatrixSDK

extension MXSession {
    /// Retries a failed sync at once if a retry is pending.
    fileprivate func retryIfWaiting() {
        switch state {
        case .homeserverNotReachable, .syncError, .initialSyncFailed: resume()
        default: break
        }
    }
}

/// Sending, restoring failed messages, and joining.
extension MXKRoomViewController {
    func send(_ text: String, _ mode: MXKRoomInputToolbarView.Mode, _ mentions: [MXMention]) {
        // A sent message appears among the newest.
        showNewest()
        guard let source = roomDataSource else { return }
        source.mxSession?.retryIfWaiting()
        let text = text.hasPrefix("//") ? String(text.dropFirst()) : text
        viewport.goToEnd()
        let failed: ((any Error)?) -> Void = { [weak self] error in self?.fail("The message was not sent", error) }
        // A failed reply or edit leaves nothing in the room: its text returns to the composer.
        let failedWithText: ((any Error)?) -> Void = { [weak self] error in
            failed(error)
            self?.returned.append(Returned(source: source, text: text, mode: mode, mentions: mentions))
            self?.giveBack()
        }
        switch mode {
        case .message where mentions.isEmpty: source.sendTextMessage(text, success: nil, failure: failed)
        case .message:
            Task {
                do { try await source.sendTextMessage(text, mentions: mentions) } catch { failed(error) }
            }
        case .reply(let eventId, to: _) where mentions.isEmpty:
            source.sendReplyToEvent(withId: eventId, withTextMessage: text, success: nil, failure: failedWithText)
        case .reply(let eventId, to: _):
            Task {
                do {
                    try await source.sendReply(toEventWithId: eventId, withTextMessage: text, mentions: mentions)
                } catch {
                    failedWithText(error)
                }
            }
        case .edit(let eventId) where mentions.isEmpty:
            source.replaceTextMessageForEvent(
                withId: eventId, withTextMessage: text, success: nil, failure: failedWithText)
        case .edit(let eventId):
            Task {
                do {
                    try await source.replaceTextMessage(
                        ofEventWithId: eventId, withTextMessage: text, mentions: mentions)
                } catch {
                    failedWithText(error)
                }
            }
        }
        selectedEventId = nil
    }

    /// Restores a message of the current room that could not be sent to the composer.
    func giveBack() {
        guard let index = returned.firstIndex(where: { $0.source === roomDataSource }),
            inputToolbarView.giveBack(returned[index].text, returned[index].mode, mentions: returned[index].mentions)
        else { return }
        returned.remove(at: index)
        setNeedsDisplay()
    }

    func fail(_ words: String, _ error: (any Error)?) {
        let text = error.map { "\(words): \($0)" } ?? words
        if let onError { onError(text) } else { show(text) }
    }

    func stopTyping() {
        guard typing.ends(), let room = roomDataSource?.room else { return }
        Task { try? await room.sendTypingNotification(typing: false) }
    }

    // MARK: Joining

    func join(_ completion: ((MXKRoomViewControllerJoinRoomResult) -> Void)?) {
        guard let room = roomDataSource?.room else { return completion?(.failureGeneric) ?? () }
        guard !isBusy else { return completion?(.failureJoinInProgress) ?? () }
        startActivityIndicator()
        Task { [weak self] in
            let result: MXKRoomViewControllerJoinRoomResult
            do {
                try await room.join()
                result = .success
            } catch let error as MXError where error.errcode == "M_UNKNOWN" && error.status == 404 {
                result = .failureRoomEmpty
            } catch {
                self?.fail("The room was not joined", error)
                result = .failureGeneric
            }
            self?.stopActivityIndicator()
            completion?(result)
        }
    }
}
