import CommandKit
import Foundation
import MatrixSDK

/// A device of the account, as a line.
struct DeviceRecord: ListRecord {
    let device: MXDevice
    /// Whether this login created the device.
    let isCurrent: Bool
    /// The trust, such as `verified`; `nil` if unknown.
    let standing: String?

    private var lastSeen: Date? {
        device.lastSeenTs.flatMap { $0 == 0 ? nil : Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    var json: String {
        var line = JSONLine(type: "device")
        line.add("device_id", device.deviceId)
        line.add("name", device.displayName)
        line.add("last_seen", lastSeen.map(JSONLine.text))
        line.add("address", device.lastSeenIp)
        line.add("trust", standing)
        line.add("current", json: String(isCurrent))
        return line.text
    }

    /// Returns columns such as `Phone  ABCDEFGHIJ  2026-01-31 12:00  192.0.2.1  verified  this device`.
    func columns(style: TextStyle) -> [TerminalText] {
        let parts: [TerminalText?] = [
            style.event(device.displayName ?? ""), style.channel(device.deviceId),
            lastSeen.map { style.dim(Record.minute($0)) }, device.lastSeenIp.map { TerminalText($0) },
            standing.map { TerminalText($0) }, isCurrent ? "this device" : nil,
        ]
        return parts.map { $0 ?? "" }
    }
}

extension DeviceRecord: Comparable {
    /// Sorts the current device first, then those seen most recently.
    static func < (lhs: DeviceRecord, rhs: DeviceRecord) -> Bool {
        guard lhs.isCurrent == rhs.isCurrent else { return lhs.isCurrent }
        return (rhs.device.lastSeenTs ?? 0, lhs.device.deviceId) < (lhs.device.lastSeenTs ?? 0, rhs.device.deviceId)
    }
}
