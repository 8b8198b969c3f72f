import Foundation
import MatrixProtocol
import MatrixSDK

/// Setup and subscriptions.
extension MXKRoomDataSource {
    func listen() {
        guard let session = mxSession else { return }
        let roomId = roomId
        let room: @Sendable () -> MXRoom? = { [weak session] in session?.room(withRoomId: roomId) }
        let inbox = RoomInbox(roomId: roomId, room: room) { [weak self] in self?.received($0, $1) }
        self.inbox = inbox
        observer = session.observeReports { inbox.add($0) }
    }

    /// Subscribes with the room's state before each event.
    func listenForStates(_ room: MXRoom) {
        stateListener = room.liveTimeline.listenToEvents([]) { _, _, _ in }
    }

    func stopListening() {
        if let observer { mxSession?.stopObserving(observer) }
        if let stateListener { room?.liveTimeline.removeListener(stateListener) }
        (observer, stateListener, inbox) = (nil, nil, nil)
    }

    /// Shows the stored messages of a thread at once, and those of the homeserver as soon as it answers.
    func beginThread(_ room: MXRoom, _ rootId: String) {
        guard thread == nil else { return }
        thread = room.timeline(ofThread: rootId)
        let current = generation
        Task { [weak self] in
            let (events, reading) = await Self.readThread(rootId, in: room)
            guard let self, self.generation == current else { return }
            self.with(reading) { for event in events { self.add(event, state: self.roomState, isOlder: false) } }
            self.addEchoes()
            self.placeReceipts()
            self.setState(.ready)
            self.roomDidSet()
            self.report()
            // The view also pages, and reports errors.
            _ = try? await self.paginate(30, direction: .backwards)
        }
    }

    @concurrent
    private nonisolated static func readThread(_ rootId: String, in room: MXRoom) async -> ([MXEvent], RoomReading) {
        let events = (room.storedEvent(rootId).map { [$0] } ?? []) + room.storedMessages(ofThread: rootId)
        return (events, RoomReading(of: events, receipts: true, in: room))
    }

    func beginAroundEvent(_ room: MXRoom) {
        guard let initialEventId, context == nil else { return }
        let context = room.timeline(onEvent: initialEventId)
        self.context = context
        let (current, limit) = (generation, paginationLimitAroundInitialEvent)
        Task { [weak self] in
            do {
                let events = try await context.resetPaginationAroundInitialEvent(withLimit: limit)
                let reading = await RoomReading.read(events, receipts: true, in: room)
                guard let self, self.generation == current else { return }
                self.with(reading) { for event in events { self.add(event, state: self.roomState, isOlder: false) } }
                self.readReadMarker()
                self.placeReceipts()
                self.setState(.ready)
                self.roomDidSet()
                self.report()
            } catch {
                guard let self, self.generation == current else { return }
                self.context = nil
                NotificationCenter.default.post(
                    name: .mxkRoomDataSourceTimelineError, object: self,
                    userInfo: [kMXKRoomDataSourceTimelineErrorErrorKey: error])
                self.setState(.failed)
            }
        }
    }
}
