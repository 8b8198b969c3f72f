public import MatrixSDK

/// Callback variants: push rules, pushers, notifications.
extension MXRestClient {
    /// `pushRules()` with a callback.
    @discardableResult
    public func pushRules(completion: @escaping (MXResponse<JSONView>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.pushRules() }
    }

    /// `pushRule(kind:ruleId:)` with a callback.
    @discardableResult
    public func pushRule(kind: String, ruleId: String, completion: @escaping (MXResponse<JSONView>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.pushRule(kind: kind, ruleId: ruleId) }
    }

    /// `setPushRule(kind:ruleId:rule:before:after:)` with a callback.
    @discardableResult
    public func setPushRule(
        kind: String, ruleId: String, rule: [String: Any], before: String? = nil, after: String? = nil,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedRule = EncodedJSON(rule)
        return operation(completion) {
            try await self.setPushRule(kind: kind, ruleId: ruleId, rule: encodedRule, before: before, after: after)
        }
    }

    /// `removePushRule(kind:ruleId:)` with a callback.
    @discardableResult
    public func removePushRule(kind: String, ruleId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.removePushRule(kind: kind, ruleId: ruleId) }
    }

    /// `enablePushRule(kind:ruleId:enabled:)` with a callback.
    @discardableResult
    public func enablePushRule(
        kind: String, ruleId: String, enabled: Bool, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.enablePushRule(kind: kind, ruleId: ruleId, enabled: enabled) }
    }

    /// `setPushRuleActions(kind:ruleId:actions:)` with a callback.
    @discardableResult
    public func setPushRuleActions(
        kind: String, ruleId: String, actions: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.setPushRuleActions(kind: kind, ruleId: ruleId, actions: actions) }
    }

    /// `setPusher(pushKey:kind:appId:appDisplayName:deviceDisplayName:profileTag:lang:data:append:enabled:)` with a
    /// callback.
    @discardableResult
    public func setPusher(
        pushKey: String, kind: MXPusherKind, appId: String, appDisplayName: String, deviceDisplayName: String,
        profileTag: String, lang: String, data: [String: Any], append: Bool, enabled: Bool = true,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedData = EncodedJSON(data)
        return operation(completion) {
            try await self.setPusher(
                pushKey: pushKey, kind: kind, appId: appId, appDisplayName: appDisplayName,
                deviceDisplayName: deviceDisplayName, profileTag: profileTag, lang: lang, data: encodedData,
                append: append, enabled: enabled)
        }
    }

    /// `pushers()` with a callback.
    @discardableResult
    public func pushers(completion: @escaping (MXResponse<[MXPusher]>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.pushers() }
    }

    /// `notifications(from:limit:onlyHighlights:)` with a callback.
    @discardableResult
    public func notifications(
        from: String? = nil, limit: Int? = nil, onlyHighlights: Bool = false,
        completion: @escaping (MXResponse<MXNotifications>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.notifications(from: from, limit: limit, onlyHighlights: onlyHighlights) }
    }
}
