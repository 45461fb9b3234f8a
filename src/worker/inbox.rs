//! The mark below which no inbox row can appear any more, so that a held snapshot's dead rows need not be read again.
//!
//! Ids are drawn in order but become visible in the order of commits, so "read up to id n" says nothing by itself. The
//! mark moves to an id only when every transaction that could have drawn an id up to it has ended: fire_event has its
//! xid before it draws the id, so those transactions are older than an xmax taken after the id was read.

/// The mark, and the candidate that waits for its transactions to end.
#[derive(Debug, Default, PartialEq)]
pub struct InboxMark {
    /// No row with an id up to here can appear.
    pub mark: i64,
    candidate: Option<Candidate>,
    last_id: Option<i64>,
}

#[derive(Debug, PartialEq)]
struct Candidate {
    last_id: i64,
    xmax: i64,
}

impl InboxMark {
    /// Notes the largest id drawn so far; call in one statement, [`InboxMark::observe`] in a later one.
    pub fn note_last_id(&mut self, last_id: i64) {
        self.last_id = Some(last_id);
    }

    /// Moves the mark as far as a later snapshot allows: all transactions below `xmin` have ended, none from `xmax` on
    /// had begun, and `smallest` is the smallest id above the mark that the snapshot shows.
    pub fn observe(&mut self, xmin: i64, xmax: i64, smallest: Option<i64>) {
        if let Some(candidate) = self.candidate.take_if(|candidate| candidate.xmax <= xmin) {
            let reached = smallest.map_or(candidate.last_id, |smallest| candidate.last_id.min(smallest - 1));
            self.mark = self.mark.max(reached);
        }
        if let (None, Some(last_id)) = (&self.candidate, self.last_id.take()) {
            self.candidate = Some(Candidate { last_id, xmax });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_waits_for_the_transactions_that_may_have_drawn_an_id() {
        let mut inbox = InboxMark::default();
        inbox.note_last_id(10);
        inbox.observe(95, 100, None);
        assert_eq!(inbox.mark, 0);
        inbox.observe(99, 120, None);
        assert_eq!(inbox.mark, 0, "transaction 99 may still commit id 7");
        inbox.observe(100, 130, None);
        assert_eq!(inbox.mark, 10);
    }

    #[test]
    fn the_mark_never_passes_a_row_that_is_there() {
        let mut inbox = InboxMark::default();
        inbox.note_last_id(10);
        inbox.observe(95, 100, Some(4));
        inbox.observe(100, 130, Some(4));
        assert_eq!(inbox.mark, 3);
    }

    #[test]
    fn the_mark_never_moves_back() {
        let mut inbox = InboxMark { mark: 50, ..InboxMark::default() };
        inbox.note_last_id(40);
        inbox.observe(1, 2, None);
        inbox.observe(2, 3, Some(20));
        assert_eq!(inbox.mark, 50);
    }
}
