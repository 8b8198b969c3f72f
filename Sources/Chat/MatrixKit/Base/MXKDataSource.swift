import MatrixProtocol
public import MatrixSDK

/// The state of a data source.
public enum MXKDataSourceState: UInt, Sendable {
    /// ``MXKDataSource/finalizeInitialization()`` has not been called yet.
    case unknown
    /// Waiting for data.
    case preparing
    /// No data will arrive, for example because the room is unknown.
    case failed
    /// The data is available.
    case ready
}

/// Provides cells to its delegate and reports their changes.
///
/// The data source listens to the SDK and turns events into **cell data**. Its delegate, usually a screen, chooses the
/// **cell view** class for each cell data. You can replace each of the three by subclassing, and the cell data also
/// through ``registerCellDataClass(_:forCellIdentifier:)``.
@MainActor
open class MXKDataSource: MXKCellRenderingDelegate {
    /// The session that provides the data; `nil` once it is gone.
    public internal(set) weak var mxSession: MXSession?
    /// The current state.
    public private(set) var state = MXKDataSourceState.unknown
    /// Notified of every change, on the main actor.
    public weak var delegate: (any MXKDataSourceDelegate)?

    private var cellDataClasses: [String: AnyClass] = [:]
    private(set) var isDestroyed = false
    private var sessionStates: Task<Void, Never>?

    /// Creates a data source that still needs ``finalizeInitialization()``.
    public init(matrixSession mxSession: MXSession?) { self.mxSession = mxSession }

    // MARK: Life cycle

    /// Starts listening. A subclass calls this method at the end of its initializer, or the code that creates the data
    /// source does. A second call does nothing.
    open func finalizeInitialization() {
        guard state == .unknown else { return }
        setState(.preparing)
        if let session = mxSession {
            let states = session.states
            sessionStates = Task { [weak self] in
                for await _ in states {
                    guard let self else { return }
                    self.didMXSessionStateChange()
                }
            }
        }
        didMXSessionStateChange()
    }

    /// Stops all work and all delegate notifications, even for pending requests. A second call does nothing.
    open func destroy() {
        guard !isDestroyed else { return }
        isDestroyed = true
        sessionStates?.cancel()
        cancelAllRequests()
        delegate = nil
        state = .unknown
    }

    /// Called when listening starts and whenever the session's state changes.
    open func didMXSessionStateChange() {}

    /// Cancels the pending network requests.
    open func cancelAllRequests() {}

    /// Sets the state and notifies the delegate.
    package func setState(_ new: MXKDataSourceState) {
        guard state != new, !isDestroyed else { return }
        state = new
        delegate?.dataSource(self, didStateChange: new)
    }

    /// Whether the session has its store and therefore data to show.
    var sessionHasData: Bool {
        switch mxSession?.state {
        case .storeDataReady?, .syncInProgress?, .running?, .backgroundSyncInProgress?, .pauseRequested?, .paused?,
            .homeserverNotReachable?:
            true
        case .some, nil: false
        }
    }

    // MARK: Cell data

    /// Registers the class for cells with this identifier. The class must conform to the protocol of that kind of cell.
    open func registerCellDataClass(_ cellDataClass: AnyClass, forCellIdentifier identifier: String) {
        cellDataClasses[identifier] = cellDataClass
    }

    /// Returns the class registered for this identifier; `nil` if there is none.
    open func cellDataClass(forCellIdentifier identifier: String) -> AnyClass? { cellDataClasses[identifier] }

    /// Returns the registered class as the type that this identifier requires.
    func registeredClass<Class>(_ identifier: String, as _: Class.Type) -> Class {
        guard let type = cellDataClasses[identifier] else {
            preconditionFailure("no class is registered for the cells “\(identifier)”")
        }
        guard let type = type as? Class else {
            preconditionFailure("\(type), which is registered for the cells “\(identifier)”, is no \(Class.self)")
        }
        return type
    }

    package func tell(_ changes: MXKCellChanges?) {
        guard !isDestroyed, changes?.isEmpty != true else { return }
        delegate?.dataSource(self, didCellChange: changes)
    }

    // MARK: User actions

    /// Forwards the action to the delegate.
    open func cell(
        _ cell: any MXKCellRendering, didRecognizeAction actionIdentifier: String, userInfo: [AnyHashable: Any]?
    ) {
        delegate?.dataSource(self, didRecognizeAction: actionIdentifier, inCell: cell, userInfo: userInfo)
    }

    /// Asks the delegate.
    open func cell(
        _ cell: any MXKCellRendering, shouldDoAction actionIdentifier: String, userInfo: [AnyHashable: Any]?,
        defaultValue: Bool
    ) -> Bool {
        delegate?.dataSource(
            self, shouldDoAction: actionIdentifier, inCell: cell, userInfo: userInfo, defaultValue: defaultValue)
            ?? defaultValue
    }
}

/// Displays the cells of a data source.
@MainActor
public protocol MXKDataSourceDelegate: AnyObject {
    /// Returns the view class for the data; return `nil` to show nothing.
    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)?
    /// Returns the reuse identifier of that class.
    func cellReuseIdentifier(for cellData: MXKCellData) -> String?
    /// Called when the cells have changed.
    ///
    /// - Parameter changes: ``MXKCellChanges``; `nil` if everything may have changed.
    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?)
    /// Called when the data source's state has changed.
    func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState)
    /// Called when cells of another session were added.
    func dataSource(_ dataSource: MXKDataSource, didAddMatrixSession mxSession: MXSession)
    /// Called when the cells of a session were removed.
    func dataSource(_ dataSource: MXKDataSource, didRemoveMatrixSession mxSession: MXSession)
    /// Called when the user performed an action on a cell.
    func dataSource(
        _ dataSource: MXKDataSource, didRecognizeAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?)
    /// Returns whether the user may perform an action on a cell.
    func dataSource(
        _ dataSource: MXKDataSource, shouldDoAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?, defaultValue: Bool
    ) -> Bool
}

extension MXKDataSourceDelegate {
    /// The default implementation does nothing.
    public func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) {}
    /// The default implementation does nothing.
    public func dataSource(_ dataSource: MXKDataSource, didAddMatrixSession mxSession: MXSession) {}
    /// The default implementation does nothing.
    public func dataSource(_ dataSource: MXKDataSource, didRemoveMatrixSession mxSession: MXSession) {}
    /// The default implementation does nothing.
    public func dataSource(
        _ dataSource: MXKDataSource, didRecognizeAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?
    ) {}
    /// The default implementation returns the default value.
    public func dataSource(
        _ dataSource: MXKDataSource, shouldDoAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?, defaultValue: Bool
    ) -> Bool { defaultValue }
}
