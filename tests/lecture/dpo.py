"""The lecture's DPO: Adam on float32 logits, over the raw pairs."""

import numpy as np
import torch
import torch.nn.functional as F


def dpo_loss(logits, log_ref, winners, losers, beta):
    """Minus the mean log-sigmoid of the margins."""
    implicit = beta * (torch.log_softmax(logits, dim=0) - log_ref)
    return -F.logsigmoid(implicit[winners] - implicit[losers]).mean()


def train_dpo(pi_ref, winners, losers, beta, steps=2000, lr=0.05, record=None):
    """Full-batch Adam; `record` gets every 200th step, the last one only if it is such a step."""
    log_ref = torch.tensor(np.log(pi_ref), dtype=torch.float32)
    won, lost = torch.tensor(winners), torch.tensor(losers)
    logits = log_ref.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=lr)
    for step in range(steps + 1):
        if record is not None and step % 200 == 0:
            record.append((step, torch.softmax(logits, dim=0).detach().numpy()))
        if step < steps:
            optimizer.zero_grad()
            dpo_loss(logits, log_ref, won, lost, beta).backward()
            optimizer.step()
    return torch.softmax(logits, dim=0).detach().numpy()


def implicit_reward(policy, pi_ref, beta):
    """beta log(pi / pi_ref); 0/0 is NaN."""
    return beta * np.log(policy / pi_ref)
