-- The shop: one table of the application's own, and one workflow that follows
-- every order. The receiver stands for three services; the second of them is
-- down for the first two tries of every request.

\set QUIET on
set client_min_messages = warning;
create extension if not exists rea;

create table orders (
    order_no text primary key,
    sku      text not null,
    qty      integer not null,
    amount   numeric not null
);

select rea.define_workflow(replace($definition$
{
  "workflowName": "orderNotifyFlow",
  "triggerEvent": "order.created",
  "timeoutSeconds": 300,
  "retryPolicy": {"maxRetries": 5, "backoffMs": 200, "backoffMultiplier": 2, "jitter": 0.2},
  "actions": [
    {"name": "deductStock", "type": "http",
     "config": {"method": "POST", "url": "http://receiver/stock/deduct", "timeoutMs": 3000,
                "body": {"sku": "${payload.sku}", "qty": "${payload.qty}"}},
     "output": {"reservation": "${response.body.id}"}},
    {"name": "grantPoints", "type": "http",
     "config": {"method": "POST", "url": "http://receiver/fail/2/points/grant", "timeoutMs": 5000,
                "body": {"order": "${event.bizKey}", "amount": "${payload.amount}"}}},
    {"name": "sendMessage", "type": "http",
     "config": {"method": "POST", "url": "http://receiver/message/send", "timeoutMs": 1000,
                "body": {"text": "Order ${event.bizKey}: ${payload.qty} × ${payload.sku}, reservation ${steps.deductStock.output.reservation}"}}}
  ],
  "output": {"reservation": "${steps.deductStock.output.reservation}"}
}
$definition$, 'http://receiver', :'receiver')::jsonb) as version \gset
\echo
\echo 1. A workflow is defined: order.created is followed by deductStock, grantPoints, sendMessage.
