import Foundation
public import MatrixSDK

/// A homeserver whose public rooms can be listed.
open class MXKDirectoryServerCellData: MXKCellData {
    /// The server name, as in ids.
    public let name: String
    /// Whether this is the user's own homeserver.
    public let isOwn: Bool

    /// Creates the data for a homeserver.
    public init(name: String, isOwn: Bool) {
        (self.name, self.isOwn) = (name, isOwn)
        super.init()
    }
}

/// The homeservers whose public rooms can be listed: the user's own, then those of the settings.
@MainActor
open class MXKDirectoryServersDataSource: MXKDataSource {
    private let settings: MXKAppSettings
    private var cells: [MXKDirectoryServerCellData] = []

    /// - Parameter settings: The settings that store the list; `nil` uses the program's settings.
    public init(matrixSession mxSession: MXSession?, settings: MXKAppSettings?) {
        self.settings = settings ?? .standard()
        super.init(matrixSession: mxSession)
        read()
        finalizeInitialization()
    }

    /// Creates a data source with the program's settings.
    public override convenience init(matrixSession mxSession: MXSession?) {
        self.init(matrixSession: mxSession, settings: nil)
    }

    open override func didMXSessionStateChange() { setState(.ready) }

    /// The number of homeservers.
    public var numberOfCells: Int { cells.count }

    /// Returns the homeserver at an index; `nil` if out of range.
    open func cellData(at index: Int) -> MXKDirectoryServerCellData? {
        cells.indices.contains(index) ? cells[index] : nil
    }

    /// Adds a homeserver to the settings. An existing one stays.
    ///
    /// - Returns: False if the name is not a valid server name.
    open func addServer(_ name: String) -> Bool {
        let name = name.lowercased()
        guard Self.isServerName(name) else { return false }
        if !cells.contains(where: { $0.name == name }) {
            settings.directoryServers.append(name)
            changed()
        }
        return true
    }

    /// Removes a homeserver from the settings. The user's own stays.
    open func removeServer(_ name: String) {
        settings.directoryServers.removeAll { $0 == name }
        changed()
    }

    private func changed() {
        read()
        tell(nil)
    }

    private func read() {
        let own = mxSession?.credentials?.userId.flatMap { id in
            id.firstIndex(of: ":").map { String(id[id.index(after: $0)...]) }
        }
        cells =
            (own.map { [MXKDirectoryServerCellData(name: $0, isOwn: true)] } ?? [])
            + settings.directoryServers.filter { $0 != own }.map { MXKDirectoryServerCellData(name: $0, isOwn: false) }
    }

    /// Returns whether this is a host with an optional port (appendices of the Matrix specification, "Server name").
    private static func isServerName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 230 else { return false }
        if name.hasPrefix("[") { return name.contains("]") && name.allSatisfy { $0.isHexDigit || "[]:.".contains($0) } }
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty else { return false }
        if parts.count == 2, UInt16(parts[1]) == nil { return false }
        return host.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || "0123456789-.".unicodeScalars.contains($0))
        }
    }
}
