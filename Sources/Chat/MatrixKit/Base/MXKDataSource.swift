import MatrixProtocol
public import MatrixSDK

/// How far a data source is.
public enum MXKDataSourceState: UInt, Sendable {
    /// ``MXKDataSource/finalizeInitialization()`` was not called yet.
    case unknown
    /// It waits for its data.
    case preparing
    /// It will not get its data: the room is not known, say.
    case failed
    /// It has its data.
    case ready
}

/// Brings cells to whoever shows them, and tells when they change.
///
/// The data source listens to the SDK and makes **cell data** of what it hears. Its delegate, usually a screen, says which class
/// of **cell view** shows which cell data. Each of the three can be replaced: by subclassing, and by
/// ``registerCellDataClass(_:forCellIdentifier:)``.
@MainActor
open class MXKDataSource: MXKCellRenderingDelegate {
    /// The session whose data it brings; nil once that is gone.
    public internal(set) weak var mxSession: MXSession?
    /// See ``MXKDataSourceState``.
    public private(set) var state = MXKDataSourceState.unknown
    /// Told of every change, on the main actor.
    public weak var delegate: (any MXKDataSourceDelegate)?

    private var cellDataClasses: [String: AnyClass] = [:]
    private(set) var isDestroyed = false
    private var sessionStates: Task<Void, Never>?

    /// A data source that is not finished: see ``finalizeInitialization()``.
    public init(matrixSession mxSession: MXSession?) { self.mxSession = mxSession }

    // MARK: Life

    /// Begins to listen. Subclasses call it when they are initialised, or whoever makes one does; a second call does nothing.
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

    /// Ends everything: no delegate hears of it any more, whatever is still under way. A second call does nothing.
    open func destroy() {
        guard !isDestroyed else { return }
        isDestroyed = true
        sessionStates?.cancel()
        cancelAllRequests()
        delegate = nil
        state = .unknown
    }

    /// Called when it begins to listen, and whenever the session has another state.
    open func didMXSessionStateChange() {}

    /// Ends what is under way on the network.
    open func cancelAllRequests() {}

    /// Sets the state and tells the delegate.
    package func setState(_ new: MXKDataSourceState) {
        guard state != new, !isDestroyed else { return }
        state = new
        delegate?.dataSource(self, didStateChange: new)
    }

    /// Whether the session has its store: then there is something to show.
    var sessionHasData: Bool {
        switch mxSession?.state {
        case .storeDataReady?, .syncInProgress?, .running?, .backgroundSyncInProgress?, .pauseRequested?, .paused?,
            .homeserverNotReachable?:
            true
        case .some, nil: false
        }
    }

    // MARK: Cell data

    /// Makes cells of this identifier with this class from now on. It must have what the cells of that identifier need: see
    /// the protocol of each kind.
    open func registerCellDataClass(_ cellDataClass: AnyClass, forCellIdentifier identifier: String) {
        cellDataClasses[identifier] = cellDataClass
    }

    /// The class that makes cells of this identifier; nil if none is registered.
    open func cellDataClass(forCellIdentifier identifier: String) -> AnyClass? { cellDataClasses[identifier] }

    /// The registered class as what the cells of this identifier must be.
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

    // MARK: What users do

    /// Hands the action on to the delegate.
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

/// Shows the cells of a data source.
@MainActor
public protocol MXKDataSourceDelegate: AnyObject {
    /// The class of the views that show this; nil shows nothing.
    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)?
    /// What stands for that class where views are kept to be used again.
    func cellReuseIdentifier(for cellData: MXKCellData) -> String?
    /// The cells have changed.
    ///
    /// - Parameter changes: ``MXKCellChanges``; nil if all may be different.
    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?)
    /// The data source is somewhere else in its life.
    func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState)
    /// Its cells show another session too.
    func dataSource(_ dataSource: MXKDataSource, didAddMatrixSession mxSession: MXSession)
    /// Its cells show a session no more.
    func dataSource(_ dataSource: MXKDataSource, didRemoveMatrixSession mxSession: MXSession)
    /// A user did something with a cell.
    func dataSource(
        _ dataSource: MXKDataSource, didRecognizeAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?)
    /// Whether a user may do something with a cell.
    func dataSource(
        _ dataSource: MXKDataSource, shouldDoAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?, defaultValue: Bool
    ) -> Bool
}

extension MXKDataSourceDelegate {
    /// Nothing.
    public func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) {}
    /// Nothing.
    public func dataSource(_ dataSource: MXKDataSource, didAddMatrixSession mxSession: MXSession) {}
    /// Nothing.
    public func dataSource(_ dataSource: MXKDataSource, didRemoveMatrixSession mxSession: MXSession) {}
    /// Nothing.
    public func dataSource(
        _ dataSource: MXKDataSource, didRecognizeAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?
    ) {}
    /// What is usual.
    public func dataSource(
        _ dataSource: MXKDataSource, shouldDoAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?, defaultValue: Bool
    ) -> Bool { defaultValue }
}
