import JSONBytes

/// The exchange of keys for a comparison by the users: from `start` to `mac`.
///
///     starter                 accepter
///        start     ------>                  what it can do
///                  <------    accept        what is chosen, commitment to the key
///        key       ------>
///                  <------    key
///        mac       <----->    mac           once the users have compared
struct SASExchange: Sendable {
    private enum State: Sendable {
        /// We have sent `start`, with this content.
        case started(JSONView)
        /// We have sent `accept`, with a commitment to our key.
        case accepted(Curve25519KeyPair, SASAcceptance)
        /// The peer has sent its commitment, and we have sent our key.
        case committed(Curve25519KeyPair, SASAcceptance, start: JSONView)
        /// Both sides have both keys.
        case agreed(Agreement)
    }

    /// The values derived from the keys.
    private struct Agreement {
        let string: ShortAuthenticationString
        let kinds: Set<SASKind>
        let own: SASAuthentication
        let peers: SASAuthentication
    }

    let me: DeviceAddress
    let peer: DeviceAddress
    let transaction: String
    private var state: State

    // MARK: Start and accept

    /// - Parameter start: The complete content sent.
    init(start: JSONView, me: DeviceAddress, peer: DeviceAddress, transaction: String) {
        (self.me, self.peer, self.transaction) = (me, peer, transaction)
        state = .started(start)
    }

    /// Answers a peer that has started.
    ///
    /// - Throws: `invalidMessage` if no commitment can be computed over its `start`.
    init(
        answering offer: SASOffer, start: JSONView, me: DeviceAddress, peer: DeviceAddress, transaction: String,
        random: RandomSource
    ) throws(VerificationCancelCode) {
        (self.me, self.peer, self.transaction) = (me, peer, transaction)
        let pair = Curve25519KeyPair(random: random)
        guard let commitment = try? ShortAuthenticationString.commitment(key: pair.publicKey, start: start) else {
            throw .invalidMessage
        }
        state = .accepted(pair, SASAcceptance(codes: offer.codes, kinds: offer.kinds, commitment: commitment))
    }

    /// Adds the members of `start`.
    static func offer(_ content: inout JSONWriter) {
        func list(_ texts: [String]) -> String { "[\"" + texts.joined(separator: "\",\"") + "\"]" }
        content.add("method", VerificationMethod.sas.rawValue)
        content.add("key_agreement_protocols", json: list([SASKeyAgreement.hkdf.rawValue]))
        content.add("hashes", json: list([SASAcceptance.hash]))
        content.add("message_authentication_codes", json: list(SASCodeMethod.allCases.map(\.rawValue)))
        content.add("short_authentication_string", json: list(SASKind.allCases.map(\.rawValue)))
    }

    /// The members of `accept`; `nil` if this side does not answer.
    var acceptance: JSONWriter? {
        guard case .accepted(_, let acceptance) = state else { return nil }
        var content = JSONWriter()
        content.add("method", VerificationMethod.sas.rawValue)
        content.add("key_agreement_protocol", SASKeyAgreement.hkdf.rawValue)
        content.add("hash", SASAcceptance.hash)
        content.add("message_authentication_code", acceptance.codes.rawValue)
        let kinds = acceptance.kinds.map { "\"\($0.rawValue)\"" }.sorted().joined(separator: ",")
        content.add("short_authentication_string", json: "[\(kinds)]")
        content.add("commitment", acceptance.commitment)
        return content
    }

    /// Whether our `start` is unanswered, so that the peer's may be used instead.
    var isOnlyStarted: Bool {
        switch state {
        case .started: true
        case .accepted, .committed, .agreed: false
        }
    }

    /// - Returns: The key to send.
    mutating func accepted(
        _ acceptance: SASAcceptance, random: RandomSource
    ) throws(VerificationCancelCode) -> Curve25519PublicKey {
        guard case .started(let start) = state else { throw .unexpectedMessage }
        let pair = Curve25519KeyPair(random: random)
        state = .committed(pair, acceptance, start: start)
        return pair.publicKey
    }

    // MARK: Keys

    /// - Returns: The key to send; `nil` if the peer already has it.
    mutating func received(_ key: Curve25519PublicKey) throws(VerificationCancelCode) -> Curve25519PublicKey? {
        switch state {
        case .accepted(let pair, let acceptance):
            state = .agreed(try agreement(pair, key, acceptance, isStarter: false))
            return pair.publicKey
        case .committed(let pair, let acceptance, let start):
            do throws(EncryptionError) {
                try ShortAuthenticationString.verify(commitment: acceptance.commitment, key: key, start: start)
            } catch {
                throw .mismatchedCommitment
            }
            state = .agreed(try agreement(pair, key, acceptance, isStarter: true))
            return nil
        case .started, .agreed: throw .unexpectedMessage
        }
    }

    private func agreement(
        _ pair: Curve25519KeyPair, _ key: Curve25519PublicKey, _ acceptance: SASAcceptance, isStarter: Bool
    ) throws(VerificationCancelCode) -> Agreement {
        guard let secret = try? pair.sharedSecret(with: key) else { throw .invalidMessage }
        let own = SASParty(userID: me.user, deviceID: me.device, key: pair.publicKey)
        let other = SASParty(userID: peer.user, deviceID: peer.device, key: key)
        func codes(_ sender: SASParty, _ receiver: SASParty) -> SASAuthentication {
            SASAuthentication(
                secret: secret, method: acceptance.codes, sender: sender, receiver: receiver,
                transactionID: transaction)
        }
        let string = ShortAuthenticationString(
            secret: secret, starter: isStarter ? own : other, accepter: isStarter ? other : own,
            transactionID: transaction)
        return Agreement(
            string: string, kinds: acceptance.kinds, own: codes(own, other), peers: codes(other, own))
    }

    // MARK: Compared values

    /// The values to show; `nil` until both sides have both keys.
    var shown: (emoji: [SASEmoji], decimals: [Int])? {
        guard case .agreed(let agreement) = state else { return nil }
        return (
            agreement.kinds.contains(.emoji) ? agreement.string.emoji : [],
            agreement.kinds.contains(.decimal) ? agreement.string.decimals : []
        )
    }

    // MARK: Codes of keys

    /// Returns the content of `mac`, without the transaction; `nil` until both sides have both keys.
    func codes(of keys: [String: Ed25519PublicKey]) -> JSONView? {  // own names: of a verification
        guard case .agreed(let agreement) = state else { return nil }
        return agreement.own.content(of: keys)
    }

    /// - Returns: The ids of the known keys that the peer has proved.
    func verify(
        _ content: JSONView, known: [String: Ed25519PublicKey]  // own names: of a verification
    ) throws(VerificationCancelCode) -> [String] {
        guard case .agreed(let agreement) = state else { throw .unexpectedMessage }
        guard let ids = try? agreement.peers.verify(content, known: known) else { throw .keyMismatch }
        return ids
    }
}
